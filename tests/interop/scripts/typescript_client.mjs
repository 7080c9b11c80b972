// A client of the TypeScript SDK: runs one script against a server over HTTP, and prints JSON.
//
//     typescript_client.mjs PACKAGE REVISION STEPS URL
//
// PACKAGE is the module to import.  STEPS and what is printed: see `official_client.py`.

const [module, revision, script, url] = process.argv.slice(2)
const { Client, StreamableHTTPClientTransport } = await import(module)
const MODERN = '2026-07-28'

const asked = []
const outcomes = []
let answer = { action: 'cancel' }

const calls = {
  ping: client => client.ping(),
  list_tools: client => client.listTools(),
  list_prompts: client => client.listPrompts(),
  call_tool: (client, name, args) => client.callTool({ name, arguments: args }),
  get_prompt: (client, name, args) => client.getPrompt({ name, arguments: args }),
}

const options = {
  capabilities: { elicitation: {} },
  versionNegotiation: { mode: revision === MODERN ? { pin: MODERN } : 'legacy' },
}
const client = new Client({ name: 'typescript', version: '1' }, options)
client.setRequestHandler('elicitation/create', async request => {
  asked.push(request.params)
  return answer
})
await client.connect(new StreamableHTTPClientTransport(new URL(url)))
for (const [name, ...args] of JSON.parse(script)) {
  if (name === 'answer') {
    const [action, content] = args
    answer = content === undefined ? { action } : { action, content }
    continue
  }
  try {
    outcomes.push(await calls[name](client, ...args))
  } catch (error) {
    if (typeof error.code !== 'number') throw error
    outcomes.push({ error: { code: error.code, message: error.message, data: error.data } })
  }
}
console.log(JSON.stringify({ revision: client.getNegotiatedProtocolVersion(), outcomes, asked }))
await client.close()

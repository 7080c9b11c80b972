// A client of the TypeScript SDK: runs one script against a server, and prints JSON.
//
//     typescript_client.mjs PACKAGES REVISION STEPS COMMAND [ARG...]
//     typescript_client.mjs PACKAGES REVISION STEPS URL
//
// PACKAGES is the directory of the SDK's packages.  STEPS and what is printed: see `official_client.py`.

import { pathToFileURL } from 'node:url'

const [packages, revision, script, target, ...args] = process.argv.slice(2)
const load = path => import(`${pathToFileURL(packages)}/client/dist/${path}`)
const { Client, StreamableHTTPClientTransport } = await load('index.mjs')
const { StdioClientTransport } = await load('stdio.mjs')
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
const transport = target.startsWith('http:')
  ? new StreamableHTTPClientTransport(new URL(target))
  : new StdioClientTransport({ command: target, args })
await client.connect(transport)
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

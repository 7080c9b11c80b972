// A server of the TypeScript SDK: plain tools, tools that ask, one that fails, a resource, a template, a prompt.
//
//     typescript_server.mjs PACKAGES          serves on stdio
//     typescript_server.mjs PACKAGES PORT     serves over HTTP on that port; 0 for any
//
// PACKAGES is the directory of the SDK's packages.  On 2026-07-28 an answer says what is to be asked;
// before, `confirm` asks by a request of its own, and for the other two the SDK makes requests of that answer.

import { randomUUID, randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import { pathToFileURL } from 'node:url'

const [packages, port] = process.argv.slice(2)
const load = path => import(`${pathToFileURL(packages)}/${path}`)
const sdk = await load('server/dist/index.mjs')
const { McpServer, ProtocolError, ResourceTemplate, acceptedContent, fromJsonSchema, inputRequired } = sdk

const state = sdk.createRequestStateCodec({ key: new Uint8Array(randomBytes(32)), ttlSeconds: 60 })
const text = value => ({ content: [{ type: 'text', text: value }] })
const object = (properties, required = Object.keys(properties)) => ({ type: 'object', properties, required })
const schema = (...args) => fromJsonSchema(object(...args))
const string = { type: 'string' }
const stopped = new Map()
const APPROVAL = object({ approve: { type: 'boolean' }, reason: { type: 'string', default: '' } }, ['approve'])

function build({ era }, changed) {
  const options = { instructions: 'For tests.', requestState: { verify: state.verify }, capabilities: { logging: {} } }
  const server = new McpServer({ name: 'typescript', version: '1.2.3' }, options)

  const sum = { inputSchema: schema({ a: { type: 'integer' }, b: { type: 'integer' } }) }
  sum.outputSchema = schema({ sum: { type: 'integer' } })
  server.registerTool('add', { description: 'Add two numbers.', ...sum }, ({ a, b }) => ({
    ...text(`${a + b}`),
    structuredContent: { sum: a + b },
  }))

  server.registerTool('fail', { inputSchema: schema({}) }, () => {
    throw new Error('it broke')
  })

  server.registerTool('count', { inputSchema: schema({ to: { type: 'integer' } }) }, async ({ to }, context) => {
    const { progressToken } = context.mcpReq._meta
    for (let progress = 1; progress <= to; progress++) {
      const params = { progressToken, progress, total: to, message: `step ${progress}` }
      await context.mcpReq.notify({ method: 'notifications/progress', params })
    }
    return text('counted')
  })

  server.registerTool('log', { inputSchema: schema({}) }, async (_, context) => {
    await context.mcpReq.log('debug', 'nobody wants to know', 'tests')
    await context.mcpReq.log('warning', { disk: 'full' }, 'tests')
    return text('logged')
  })

  // Begins, and ends when it is cancelled; `until_stopped` answers then.
  server.registerTool('wait', { inputSchema: schema({ name: string }) }, async ({ name }, context) => {
    const cancelled = new Promise(done => context.mcpReq.signal.addEventListener('abort', done))
    stopped.set(name, cancelled)
    const params = { progressToken: context.mcpReq._meta.progressToken, progress: 0 }
    await context.mcpReq.notify({ method: 'notifications/progress', params })
    await cancelled
    return text('nobody hears this')
  })
  server.registerTool('until_stopped', { inputSchema: schema({ name: string }) }, async ({ name }) => {
    await stopped.get(name)
    return text('stopped')
  })

  server.registerTool('change', { inputSchema: schema({}) }, async () => {
    if (changed === undefined) server.sendToolListChanged()
    else changed()
    return text('changed')
  })

  server.registerTool('confirm', { inputSchema: schema({ env: string }) }, async ({ env }, context) => {
    const question = { mode: 'form', message: `Deploy to ${env}?`, requestedSchema: APPROVAL }
    let answer = context.mcpReq.inputResponses?.approval
    if (era === 'legacy') answer = await context.mcpReq.elicitInput(question)
    if (answer === undefined) return inputRequired({ inputRequests: { approval: inputRequired.elicit(question) } })
    if (answer.action !== 'accept') return text(answer.action)
    return text(`${env}: approve=${answer.content.approve} reason=${answer.content.reason ?? ''}`)
  })

  server.registerTool('order', { inputSchema: schema({}) }, async (_, context) => {
    const taken = context.mcpReq.requestState()?.taken ?? []
    const answer = acceptedContent(context.mcpReq.inputResponses, 'next')
    if (answer !== undefined) taken.push(answer.dish)
    if (taken.length === 3) return text(taken.join(', '))
    const question = { message: `Dish ${taken.length + 1}?`, requestedSchema: object({ dish: string }) }
    const requestState = await state.mint({ taken })
    return inputRequired({ inputRequests: { next: inputRequired.elicit(question) }, requestState })
  })

  server.registerTool('consult', { inputSchema: schema({}) }, async (_, context) => {
    const answers = context.mcpReq.inputResponses
    if (answers !== undefined) {
      const { content } = answers.model
      const said = (Array.isArray(content) ? content[0] : content).text
      return text(`${answers.person.content.city} / ${said} / ${answers.roots.roots[0].uri}`)
    }
    const messages = [{ role: 'user', content: { type: 'text', text: 'Where to?' } }]
    const person = inputRequired.elicit({ message: 'Where to?', requestedSchema: object({ city: string }) })
    const model = inputRequired.createMessage({ messages, maxTokens: 10 })
    return inputRequired({ inputRequests: { person, model, roots: inputRequired.listRoots() } })
  })

  server.registerResource('motto', 'note://motto', { mimeType: 'text/plain' }, ({ href }) => ({
    contents: [{ uri: href, mimeType: 'text/plain', text: 'ça va\u2028' }],
  }))
  const notes = new ResourceTemplate('note://of/{name}', { list: undefined })
  server.registerResource('note', notes, {}, ({ href }, { name }) => {
    if (name === 'nobody') throw new ProtocolError(-32050, 'nobody has no notes', { name })
    return { contents: [{ uri: href, blob: Buffer.from(name).toString('base64') }] }
  })

  server.registerPrompt('greet', { title: 'Greeting', argsSchema: schema({ name: string }) }, ({ name }) => ({
    messages: [{ role: 'user', content: { type: 'text', text: `Write a warm greeting to ${name}.` } }],
  }))
  return server
}

async function listen() {
  const { NodeStreamableHTTPServerTransport, toNodeHandler, toWebRequest } = await load('node/dist/index.mjs')
  // Each request has a server of its own here, so what changed is told by what makes them.
  const make = context => build(context, () => handler.notify.toolsChanged())
  const handler = sdk.createMcpHandler(make, { legacy: 'reject' })
  const modern = toNodeHandler(handler)
  const sessions = new Map()

  async function legacy(request, response, body) {
    const id = request.headers['mcp-session-id']
    let transport = sessions.get(id)
    if (transport === undefined) {
      if (!sdk.isInitializeRequest(body)) return response.writeHead(id === undefined ? 400 : 404).end()
      transport = new NodeStreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: made => sessions.set(made, transport),
        onsessionclosed: closed => sessions.delete(closed),
      })
      await build({ era: 'legacy' }).connect(transport)
    }
    await transport.handleRequest(request, response, body)
  }

  const http = createServer(async (request, response) => {
    if (request.method !== 'POST') return legacy(request, response)
    const body = JSON.parse(Buffer.concat(await request.toArray()).toString())
    const old = await sdk.isLegacyRequest(await toWebRequest(request, body), body)
    await (old ? legacy : modern)(request, response, body)
  })
  http.listen(Number(port), '127.0.0.1', () => console.log(`MCP at http://127.0.0.1:${http.address().port}/mcp`))
}

if (port === undefined) (await load('server/dist/stdio.mjs')).serveStdio(context => build(context))
else await listen()

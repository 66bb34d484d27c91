// Lists, reads, prompts and calls everything that a server's MCP endpoint
// offers, with the official client, which checks every answer against the
// protocol and the output schema of its tool. SANDRONE_MCP is the address of
// the endpoint, SANDRONE_TOKEN its token. The revision is pinned: with another
// one the client does not connect. Prints what it did as JSON.

import assert from 'node:assert/strict';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

const client = new Client(
  { name: 'sandrone-client-check', version: '1.0.0' },
  { versionNegotiation: { mode: { pin: '2026-07-28' } } },
);
await client.connect(new StreamableHTTPClientTransport(new URL(process.env.SANDRONE_MCP), {
  requestInit: { headers: { Authorization: `Bearer ${process.env.SANDRONE_TOKEN}` } },
}));

// Arguments for each tool, in an order in which each finds what it needs. A
// remote address leads nowhere here: its error has to be well-formed too.
const node = 'trojan://secret@192.0.2.1:443#Osaka';
const own = { name: 'own', type: 'local', format: 'uri-list', content: node };
const air = { name: 'air', type: 'remote', remote: { url: 'https://air.example/sub' } };
const notes = { name: 'notes.txt', kind: 'static', source: { type: 'inline', content: 'hello\n' } };
const calls = [
  ['sandrone_inspect', {}],
  ['sandrone_convert', { to_format: 'mihomo-proxies', from_format: 'uri-list', content: node }, (r) => assert.match(r.body, /Osaka/)],
  ['sandrone_convert', { to_format: 'nonsense', from_format: 'uri-list', content: node }, 'invalid_argument'],
  ['sandrone_put_subscription', { ...own, dry_run: true }, (r) => assert.equal(r.exists, false)],
  ['sandrone_put_subscription', own, (r) => assert.equal(r.ok, true)],
  ['sandrone_put_subscription', air],
  ['sandrone_put_file', { ...notes, dry_run: true }, (r) => assert.equal(r.bytes.after, 6)],
  ['sandrone_put_file', notes],
  ['sandrone_list_resources', { limit: 2 }, (r) => assert.ok(r.next_cursor)],
  ['sandrone_preview_subscription', { name: 'own' }],
  ['sandrone_render_subscription', { name: 'own', format: 'uri-list' }, (r) => assert.match(r.body, /Osaka/)],
  ['sandrone_get_subscription_traffic', { name: 'air' }, 'fetch_failed'],
  ['sandrone_get_file', { file: 'notes.txt' }, (r) => assert.equal(r.body, 'hello\n')],
  ['sandrone_get_file', { file: 'notes.txt', mode: 'source' }],
  ['sandrone_get_file', { file: 'notes.txt', mode: 'spec' }],
];
const last = [
  ['sandrone_delete_file', { name: 'notes.txt' }, (r) => assert.equal(r.deleted, true)],
  ['sandrone_delete_subscription', { name: 'own' }, (r) => assert.equal(r.deleted, true)],
  ['sandrone_delete_subscription', { name: 'own' }, 'not_found'],
];

async function call([name, args, want]) {
  const answer = await client.callTool({ name, arguments: args });
  const result = answer.structuredContent;
  if (typeof want === 'string') {
    assert.equal(answer.isError, true, `${name} did not fail`);
    assert.equal(result.error.code, want);
    return;
  }
  assert.notEqual(answer.isError, true, `${name}: ${JSON.stringify(result)}`);
  assert.deepEqual(JSON.parse(answer.content[0].text), result, `${name}: text and structured content differ`);
  want?.(result);
}

const { tools } = await client.listTools();
for (const c of calls) await call(c);

const { resources } = await client.listResources();
const { resourceTemplates } = await client.listResourceTemplates();
const exact = {
  'sandrone://subscriptions/{name}': ['sandrone://subscriptions/own'],
  'sandrone://files/{name}': ['sandrone://files/notes.txt'],
  'sandrone://capabilities/formats/{direction}/{format}': ['sandrone://capabilities/formats/render/mihomo-proxies'],
  'sandrone://schemas/processors/{stage}/{type}': ['sandrone://schemas/processors/nodes/filter'],
  'sandrone://schemas/file-kinds/{kind}': ['sandrone://schemas/file-kinds/static'],
};
const uris = resources.map((r) => r.uri).concat(resourceTemplates.flatMap((t) => {
  assert.ok(exact[t.uriTemplate], `no case for the template ${t.uriTemplate}`);
  return exact[t.uriTemplate];
}));
for (const uri of uris) {
  const { contents } = await client.readResource({ uri });
  assert.equal(contents[0].uri, uri);
  JSON.parse(contents[0].text);
}
await assert.rejects(client.readResource({ uri: 'sandrone://subscriptions/nobody' }), { code: -32602 });

const given = {
  target: 'a router', subscription_type: 'local', input_source: 'a list', kind: 'static', stage: 'nodes',
  expected_input: 'nodes', expected_output: 'nodes', source_format: 'uri-list', target_format: 'mihomo-proxies', report_json: '{}',
};
const { prompts } = await client.listPrompts();
for (const p of prompts) {
  const args = {};
  for (const a of p.arguments ?? []) if (a.required) args[a.name] = given[a.name] ?? assert.fail(`no value for ${p.name}.${a.name}`);
  const { messages } = await client.getPrompt({ name: p.name, arguments: args });
  assert.equal(messages.length, 1);
}

for (const c of last) await call(c);
const called = new Set([...calls, ...last].map(([name]) => name));
for (const t of tools) assert.ok(called.has(t.name), `${t.name} was not called`);
await client.close();
console.log(JSON.stringify({ tools: tools.length, resources: resources.length, templates: resourceTemplates.length, prompts: prompts.length }));

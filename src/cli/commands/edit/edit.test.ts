import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AgentCommandHarness, type Ran } from '#support/harness/agent-command-harness.js';
import { type FakeAgentServer, sendStatus } from '#support/fakes/fake-agent-server.js';

const CONF = '/api/v1/namespaces/default/configmaps/conf';
let agent: FakeAgentServer;
let lab: AgentCommandHarness;
let folder: string;

beforeEach(async () => {
  lab = await AgentCommandHarness.open();
  agent = lab.agent;
  folder = await mkdtemp(join(tmpdir(), 'podloop-edit-test-'));
  const conf = { metadata: { name: 'conf', namespace: 'default', resourceVersion: '7' }, data: { a: 'one' } };
  agent.on(`GET ${CONF}`, () => ({ apiVersion: 'v1', kind: 'ConfigMap', ...conf }));
  agent.on(`PUT ${CONF}`, () => ({ kind: 'ConfigMap', ...conf }));
});
afterEach(async () => {
  await lab[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

/** `script` gets the file as $1; what it has opened stays in the file `seen`. */
async function edit(script: string, name = 'EDITOR', what = 'cm/conf'): Promise<Ran> {
  const editor = join(folder, 'editor');
  await writeFile(editor, `echo "$1" >> ${folder}/file\ncat "$1" >> ${folder}/seen\n${script}\n`);
  const env = { PODLOOP_SOCKET: agent.socketPath, PATH: process.env['PATH'] ?? '', [name]: `sh ${editor}` };
  return lab.start(['edit', what], { env }).ended;
}
const saved = () =>
  agent.requests
    .filter(({ method, query }) => method === 'PUT' && query['dryRun'] === undefined)
    .map(({ body }) => JSON.parse(body) as unknown);
const seen = (): Promise<string> => readFile(join(folder, 'seen'), 'utf8');
const files = async (): Promise<string[]> =>
  (await readFile(join(folder, 'file'), 'utf8')).trim().split('\n');

describe('podloop edit', () => {
  it.each(['EDITOR', 'KUBE_EDITOR'])('sends what was saved in the editor of %s', async (name) => {
    expect(await edit('sed -i s/one/two/ "$1"', name)).toEqual({
      ...{ code: 0, stdout: 'configmap/conf edited\n', stderr: '' },
    });
    const metadata = { name: 'conf', namespace: 'default' };
    expect(saved()).toEqual([{ apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { a: 'two' } }]);
    expect(existsSync(dirname((await files())[0]!))).toBe(false);
  });

  it.each([
    ['nothing was changed', 'true'],
    ['the file is empty', ': > "$1"'],
  ])('changes nothing when %s', async (_, script) => {
    expect(await edit(script)).toEqual({
      ...{ code: 0, stdout: '', stderr: 'Edit cancelled, no changes made.\n' },
    });
    expect(saved()).toEqual([]);
  });

  it('opens the editor again with what the agent refuses, and leaves the text of who gives up', async () => {
    agent.on(`PUT ${CONF}`, ({ body, query }, answer) =>
      query['dryRun'] === undefined
        ? sendStatus(answer, 403, 'Forbidden', `not ${(JSON.parse(body) as { data: { a: string } }).data.a}`)
        : {},
    );
    const { code, stderr } = await edit('sed -i s/one/two/ "$1"');
    const [file = ''] = await files();
    expect([code, stderr]).toEqual([
      1,
      `Error from server (Forbidden): not two\nWhat was edited is in ${file}\n`,
    ]);
    expect(await seen()).toContain(
      '# It was not saved:\n# Error from server (Forbidden): not two\n#\napiVersion',
    );
    expect(await readFile(file, 'utf8')).toContain('a: two');
    await rm(dirname(file), { recursive: true });
  });

  it.each([
    ['does not show', 'unchanged'],
    ['shows', 'configured'],
  ])('%s ephemeral containers if the manifest without them is %s', async (_, result) => {
    const path = '/api/v1/namespaces/default/pods/web';
    const spec = { containers: [{ name: 'main', image: 'a:1' }], ephemeralContainers: [{ name: 'added' }] };
    const web = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web' }, spec };
    agent.on(`GET ${path}`, () => web);
    agent.on(`PUT ${path}`, (_request, answer) => {
      answer.setHeader('podloop-result', result);
      return web;
    });
    await edit('true', 'EDITOR', 'pod/web');
    expect((await seen()).includes('name: added')).toBe(result === 'configured');
  });

  it('keeps what others changed while the editor was open', async () => {
    const map = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'conf', namespace: 'default' } };
    let reads = 0;
    agent.on(`GET ${CONF}`, () => ({ ...map, data: ++reads === 1 ? { a: 'one' } : { a: 'one', b: 'new' } }));
    await edit('sed -i s/one/two/ "$1"');
    expect(saved()).toEqual([{ ...map, data: { a: 'two', b: 'new' } }]);
  });

  it('leaves the text when the object is gone, or the agent', async () => {
    const map = { metadata: { name: 'conf', namespace: 'default' }, data: { a: 'one' } };
    let reads = 0;
    agent.on(`GET ${CONF}`, (_, answer) =>
      ++reads === 1 ? map : sendStatus(answer, 404, 'NotFound', 'configmaps "conf" not found'),
    );
    const gone = await edit('sed -i s/one/two/ "$1"');
    reads = 0;
    agent.on(`GET ${CONF}`, (_, answer) => {
      if (++reads === 1) return map;
      answer.destroy();
      return undefined;
    });
    const away = await edit('sed -i s/one/two/ "$1"');
    for (const { code, stderr } of [gone, away]) {
      const [, file = ''] = /What was edited is in (.*)\n/.exec(stderr) ?? [];
      expect(code).toBe(1);
      expect(await readFile(file, 'utf8')).toContain('a: two');
      await rm(dirname(file), { recursive: true });
    }
    expect(saved()).toEqual([]);
  });

  it('edits a pod under the name that is listed, with the node behind it', async () => {
    const path = '/api/v1/namespaces/default/pods/web';
    const annotations = { 'podloop.dev/manifest-hash': 'x' };
    const spec = { nodeName: 'n1', containers: [{ name: 'main', image: 'a:1' }] };
    agent.on(`GET ${path}-n1`, () => ({ metadata: { name: 'web-n1', annotations }, spec }));
    agent.on(`PUT ${path}`, () => ({}));
    expect(await edit('sed -i s/a:1/a:2/ "$1"', 'EDITOR', 'pod/web-n1')).toMatchObject({
      ...{ code: 0, stdout: 'pod/web-n1 edited\n' },
    });
    expect(saved()).toMatchObject([{ metadata: { name: 'web' }, spec: { containers: [{ image: 'a:2' }] } }]);
  });

  it('says where a text is no YAML', async () => {
    const { code, stderr } = await edit('sed -i "s/^kind: .*/kind: [/" "$1"');
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^error: line \d+, column \d+: /)]);
    await rm(dirname((await files())[0]!), { recursive: true });
  });

  it('says before anything is edited that it could not be saved', async () => {
    agent.on(`PUT ${CONF}`, (_, answer) => sendStatus(answer, 409, 'Conflict', 'it is in a.yaml'));
    expect(await edit('true')).toMatchObject({
      ...{ code: 1, stderr: 'Error from server (Conflict): it is in a.yaml\n' },
    });
    expect(existsSync(join(folder, 'seen'))).toBe(false);
  });

  it('fails where the editor does, and refuses Secrets', async () => {
    const { code, stderr } = await edit('exit 3');
    expect([code, stderr]).toEqual([1, expect.stringContaining('ended with 3, nothing was changed')]);
    expect((await lab.start(['edit', 'secret/key']).ended).stderr).toContain('Secrets cannot be read');
  });
});

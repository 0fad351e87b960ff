import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AgentCommandHarness, type Ran } from '#support/harness/agent-command-harness.js';
import { type FakeAgentServer } from '#support/fakes/fake-agent-server.js';

let agent: FakeAgentServer;
let lab: AgentCommandHarness;

beforeEach(async () => {
  lab = await AgentCommandHarness.open();
  agent = lab.agent;
});
afterEach(() => lab[Symbol.asyncDispose]());

const WEB = '/apis/apps/v1/namespaces/default/deployments/web';
const podloop = (...args: string[]): Promise<Ran> => lab.start(args).ended;
const patches = () =>
  agent.requests
    .filter(({ method }) => method === 'PATCH')
    .map(({ path, contentType, body }) => [path, contentType, JSON.parse(body) as unknown]);
const [STRATEGIC, MERGE, JSON_TYPE] = ['strategic-merge-patch', 'merge-patch', 'json-patch'].map(
  (name) => `application/${name}+json`,
);
const containers = (...names: string[]) => names.map((name) => ({ name, image: 'a:1' }));
const web = (metadata: object = {}) => ({
  ...{ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web', ...metadata } },
  spec: {
    template: { spec: { containers: containers('main', 'log'), initContainers: containers('first') } },
  },
});

/** A Deployment that is so already, or not. */
function serve(object: object, result = 'configured'): void {
  agent.on(`GET ${WEB}`, () => object);
  agent.on(`PATCH ${WEB}`, (_, answer) => {
    answer.setHeader('podloop-result', result);
    return object;
  });
}

describe('podloop patch', () => {
  it.each([
    [[], '{"spec": {"paused": true}}', STRATEGIC, { spec: { paused: true } }],
    [['--type=merge'], 'spec: {paused: null}', MERGE, { spec: { paused: null } }],
    [
      ['--type', 'json'],
      '[{"op":"remove","path":"/spec/x"}]',
      JSON_TYPE,
      [{ op: 'remove', path: '/spec/x' }],
    ],
  ])('sends a patch with %j: %s', async (flags, text, type, body) => {
    serve(web());
    expect(await podloop('patch', 'deploy', 'web', ...flags, '-p', text)).toEqual({
      ...{ code: 0, stdout: 'deployment.apps/web patched\n', stderr: '' },
    });
    expect(patches()).toEqual([[WEB, type, body]]);
  });

  it('says when nothing was to be changed, and what is only tried', async () => {
    serve(web(), 'unchanged');
    expect((await podloop('patch', 'deploy/web', '-p', '{}')).stdout).toBe(
      'deployment.apps/web patched (no change)\n',
    );
    serve(web());
    const tried = await podloop('patch', 'deploy/web', '-p', '{}', '--dry-run=server');
    expect(tried.stdout).toBe('deployment.apps/web patched (server dry run)\n');
    expect(agent.requests.map(({ query }) => query)).toEqual([{}, { dryRun: 'All' }]);
  });

  it('reads it from a file', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'podloop-patch-'));
    try {
      const file = join(folder, 'patch.yaml');
      await writeFile(file, 'spec:\n  paused: true\n');
      serve(web());
      expect(await podloop('patch', 'deploy/web', '--patch-file', file)).toMatchObject({ code: 0 });
      expect(patches()).toEqual([[WEB, STRATEGIC, { spec: { paused: true } }]]);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it.each([
    [['deploy/web'], 'must specify --patch or --patch-file containing the contents of the patch'],
    [['deploy/web', '-p', '[]'], 'the patch is a list: --type=json takes one'],
    [['deploy/web', '-p', '3'], 'the patch must be one object, as in {"spec":{"replicas":2}}'],
    [['deploy/web', '-p', '{"a": [}'], 'the patch, line 1, column 8'],
    [['deploy/web', '-p', '{}', '--type=json'], 'a patch of the type json is a list of operations'],
    [['deployments', '-p', '{}'], 'name an object, as in "podloop patch deploy/web"'],
    [['secret/key', '-p', '{}'], 'Secrets cannot be read, and so not changed like this'],
    [['deploy/web', '--patch-file', '/none/such'], 'no such file'],
  ])('refuses %j', async (args, words) => {
    const { code, stderr } = await podloop('patch', ...args);
    expect([code, stderr]).toEqual([1, expect.stringContaining(words)]);
    expect(patches()).toEqual([]);
  });
});

describe('podloop label and annotate', () => {
  it('set and remove values', async () => {
    serve(web({ labels: { old: '1' } }));
    expect((await podloop('label', 'deploy', 'web', 'tier=front', 'old-')).stdout).toBe(
      'deployment.apps/web labeled\n',
    );
    expect((await podloop('label', 'deploy/web', 'old-')).stdout).toBe('deployment.apps/web unlabeled\n');
    expect((await podloop('annotate', 'deploy/web', 'note=a=b c')).stdout).toBe(
      'deployment.apps/web annotated\n',
    );
    expect(patches().map(([, type, body]) => [type, body])).toEqual([
      [MERGE, { metadata: { labels: { tier: 'front', old: null } } }],
      [MERGE, { metadata: { labels: { old: null } } }],
      [MERGE, { metadata: { annotations: { note: 'a=b c' } } }],
    ]);
  });

  it('replace a value only with --overwrite', async () => {
    serve(web({ labels: { tier: 'back' } }));
    expect(await podloop('label', 'deploy/web', 'tier=front')).toMatchObject({
      ...{
        code: 1,
        stderr: "error: deployment/web: 'tier' already has a value (back), and --overwrite is false\n",
      },
    });
    expect(patches()).toEqual([]);
    expect(await podloop('label', 'deploy/web', 'tier=front', '--overwrite')).toMatchObject({ code: 0 });
  });

  it('change all that a selector finds', async () => {
    serve(web());
    const list = '/apis/apps/v1/namespaces/default/deployments';
    agent.on(`GET ${list}`, () => ({ kind: 'DeploymentList', items: [web()] }));
    const { stdout, stderr } = await podloop('label', 'deployments', '-l', 'app=web', 'tier=front');
    expect([stdout, stderr]).toEqual(['deployment.apps/web labeled\n', '']);
    expect(agent.requests[0]!.query).toEqual({ labelSelector: 'app=web' });
  });

  it.each([
    [['label', 'deploy/web'], 'at least one label update is required: KEY=VALUE or KEY-'],
    [['annotate', 'deploy/web'], 'at least one annotation update is required: KEY=VALUE or KEY-'],
    [['label', 'deploy/web', 'a=1', 'a-'], '"a" stands there twice'],
    [['label', 'deployments', 'a=1'], 'or use --all or --selector'],
  ])('refuse %j', async (args, words) => {
    const { code, stderr } = await podloop(...args);
    expect([code, stderr]).toEqual([1, expect.stringContaining(words)]);
  });
});

describe('podloop set', () => {
  const at = (spec: object) => ({ spec: { template: { spec } } });

  it.each([
    [['image', 'deploy/web', 'main=b:2'], { containers: [{ name: 'main', image: 'b:2' }] }, 'image'],
    [
      ['image', 'deploy', 'web', '*=b', 'log=c'],
      {
        containers: [
          { name: 'main', image: 'b' },
          { name: 'log', image: 'c' },
        ],
        initContainers: [{ name: 'first', image: 'b' }],
      },
      'image',
    ],
    [
      ['env', 'deploy/web', '-c', 'main', 'A=1', 'B-'],
      {
        containers: [
          {
            name: 'main',
            env: [
              { name: 'A', value: '1', valueFrom: null },
              { name: 'B', $patch: 'delete' },
            ],
          },
        ],
      },
      'env',
    ],
  ])('changes the template: %j', async (args, spec, what) => {
    serve(web());
    expect(await podloop('set', ...args)).toEqual({
      ...{ code: 0, stdout: `deployment.apps/web ${what} updated\n`, stderr: '' },
    });
    expect(patches()).toEqual([[WEB, STRATEGIC, at(spec)]]);
  });

  it.each([
    [['image', 'deploy/web', 'x=b'], 'unable to find container named "x"; there are main, log, first'],
    [['image', 'deploy/web', 'main-'], 'main needs an image, as in main=web:2'],
    [
      ['env', 'deploy/web', '-c', 'first', 'A=1'],
      'unable to find container named "first"; there are main, log',
    ],
    [['env', 'deploy/web'], 'name a variable, as in MODE=fast or DEBUG-'],
    [['image', 'svc/web', 'main=b'], 'services have no containers'],
    [['resources', 'deploy/web', 'a=b'], 'there is no "set resources", only image and env'],
  ])('refuses %j', async (args, words) => {
    serve(web());
    const { code, stderr } = await podloop('set', ...args);
    expect([code, stderr]).toEqual([1, expect.stringContaining(words)]);
    expect(patches()).toEqual([]);
  });
});

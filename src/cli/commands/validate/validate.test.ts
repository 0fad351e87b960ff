import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { type CliHost } from '../../cli-host.js';
import { LineOutput } from '../../line-output.js';
import { runProgram } from '../../program.js';

const POD =
  'apiVersion: v1\nkind: Pod\nmetadata: { name: web }\nspec: { containers: [{ name: a, image: b }] }\n';

interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-validate-'));
});

afterEach(async () => {
  await rm(folder, { recursive: true });
});

async function validate(args: readonly string[], input = ''): Promise<Outcome> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const host: CliHost = {
    ...{
      env: {},
      pid: 1,
      clock: new FakeClock(),
      selfCommand: ['podloop'],
      stdin: Readable.from([Buffer.from(input)]),
    },
    ...{ stdout: new LineOutput(stdout), stderr: new LineOutput(stderr) },
    listenForInterrupts: () => new AbortController().signal,
    onUserSignal: () => () => undefined,
  };
  const code = await runProgram(['validate', ...args], host);
  const textOf = (stream: PassThrough): string =>
    String((stream.read() as Buffer | null) ?? '').replaceAll(folder, 'DIR');
  return { code, stdout: textOf(stdout), stderr: textOf(stderr) };
}

async function write(name: string, text: string): Promise<string> {
  const file = join(folder, name);
  await writeFile(file, text);
  return file;
}

describe('podloop validate', () => {
  it('reads workloads, their templates, and what only a cluster has', async () => {
    const template =
      '{ metadata: { labels: { a: b } }, spec: { hostPID: true, containers: [{ name: a, image: b }], volumes: [{ name: v, persistentVolumeClaim: { claimName: data } }] } }';
    const deployment = `apiVersion: apps/v1\nkind: Deployment\nmetadata: { name: web }\nspec:\n  selector: { matchLabels: { a: b } }\n  template: ${template}\n`;
    const service =
      'apiVersion: v1\nkind: Service\nmetadata: { name: web }\nspec: { ports: [{ port: 80 }] }\n';
    const file = await write('web.yaml', `${deployment}---\n${service}`);
    const { code, stdout, stderr } = await validate([file]);
    expect([code, stdout]).toEqual([
      0,
      'DIR/web.yaml:1: deployment/web in namespace default is valid\nDIR/web.yaml:8: service/web in namespace default is valid\n',
    ]);
    expect(stderr).toContain(
      'the Service "web" has no selector, so it leads to no pod: Endpoints in manifests are not read',
    );
    expect(stderr).toContain(
      'spec.template.spec.volumes[0].persistentVolumeClaim.claimName: the PersistentVolumeClaim "data" of the namespace default is in none of these files: it gets an empty volume of this node',
    );
    const namespace = await write('ns.yaml', 'apiVersion: v1\nkind: Namespace\nmetadata: { name: shop }\n');
    expect((await validate([namespace])).stdout).toBe('DIR/ns.yaml:1: namespace/shop is valid\n');
    const refused = await validate([file, '--forbid', 'hostPID']);
    expect([refused.code, refused.stdout]).toEqual([
      1,
      'DIR/web.yaml:8: service/web in namespace default is valid\n',
    ]);
    expect(refused.stderr).toContain(
      'spec.template.spec.hostPID: Forbidden: this node runs with --forbid=hostPID',
    );
  });

  it('says what a node would not let a pod have, by the flags of that node', async () => {
    const text = POD.replace('image: b', 'image: b, securityContext: { privileged: true }');
    const file = await write('web.yaml', text.replace('spec: {', 'spec: { hostPID: true,'));
    expect((await validate([file])).code).toBe(0);
    const forbidding = await validate([file, '--forbid', 'privileged', '--forbid=hostIPC,hostPID']);
    expect(forbidding.code).toBe(1);
    expect(forbidding.stderr.split('\n').slice(0, 3)).toEqual([
      'error: DIR/web.yaml:1:1: spec.hostPID: Forbidden: this node runs with --forbid=hostPID',
      'error: DIR/web.yaml:1:1: spec.containers[0].securityContext.privileged: Forbidden: this node runs with --forbid=privileged',
      expect.stringContaining('2 problems; 0 valid pods'),
    ]);
    const wrong = await validate([file, '--forbid', 'root']);
    expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringContaining('--forbid: "root" is none of')]);
  });

  it('names the pods of valid manifests, as they would be on the node', async () => {
    const file = await write('web.txt', `---\n${POD}`);
    expect(await validate([file, '--node-name', 'Node-1'])).toEqual({
      ...{ code: 0, stderr: '' },
      stdout: 'DIR/web.txt:2: pod/web-node-1 in namespace default is valid\n',
    });
  });

  it('says all that is wrong, with place and path, and ends with 1', async () => {
    const file = await write('web.yaml', POD.replace('image: b', 'imag: b').replace('web', 'Web'));
    const { code, stdout, stderr } = await validate([file]);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr.split('\n')).toEqual([
      expect.stringMatching(/^error: DIR\/web\.yaml:3:19: metadata\.name: Invalid value: "Web": use /),
      'error: DIR/web.yaml:4:22: spec.containers[0].image: Required value',
      'error: DIR/web.yaml:4:33: spec.containers[0].imag: unknown field, did you mean image?',
      'error: 3 problems; 0 valid pods',
      '',
    ]);
  });

  it('reads the manifests of a folder in order, and keeps the good ones beside the bad ones', async () => {
    await write('b.yaml', POD);
    await write(
      'a.json',
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: 'api' },
        spec: { containers: [{ name: 'a', image: 'b' }] },
      }),
    );
    await write('c.yml', 'a: [');
    await write('d.yaml', '# nothing\n');
    await write('.hidden.yaml', 'a: [');
    await write('README.md', '# no');
    await mkdir(join(folder, 'inside.yaml'));
    const { code, stdout, stderr } = await validate([folder, '--node-name', 'n']);
    expect(code).toBe(1);
    expect(stdout).toBe(
      'DIR/a.json:1: pod/api-n in namespace default is valid\nDIR/b.yaml:1: pod/web-n in namespace default is valid\n',
    );
    expect(stderr.split('\n')).toEqual([
      'warning: DIR/.hidden.yaml: passed over, as it is hidden: its name begins with a dot',
      'warning: DIR/README.md: passed over, as it does not end with .yaml, .yml, .json or .manifest',
      expect.stringMatching(/^error: DIR\/c\.yml:1:5: Flow sequence/),
      'error: DIR/d.yaml:1:1: there is no pod in it',
      expect.stringMatching(/^error: DIR\/inside\.yaml:1:1: cannot be read: EISDIR/),
      'error: 3 problems; 2 valid pods',
      '',
    ]);
  });

  it('reads standard input, and no more of it than a manifest may have', async () => {
    expect((await validate(['-'], POD)).stdout).toMatch(/^<stdin>:1: pod\/web-/);
    const { stderr } = await validate(['-'], `# ${'x'.repeat(2 ** 20)}\n${POD}`);
    expect(stderr).toMatch(/^error: <stdin>:1:1: has more than 1048576 bytes; split it/);
  });

  it('finds pods that cannot be beside one another', async () => {
    const one = await write('one.yaml', POD);
    const two = await write(
      'two.yaml',
      `${POD}---\n${POD.replace('web', 'api').replace('}', ', uid: u }')}---\n${POD.replace('web', 'db').replace('}', ', uid: u }')}`,
    );
    expect((await validate([one, two, '--node-name', 'n'])).stderr.split('\n')).toEqual([
      'error: DIR/two.yaml:1:1: metadata.name: Duplicate value: "web": stands at DIR/one.yaml:1 already',
      'error: DIR/two.yaml:11:1: metadata.uid: Duplicate value: "u": stands at DIR/two.yaml:6 already',
      'error: 2 problems; 2 valid pods',
      '',
    ]);
  });

  it('names objects, and warns of what pods refer to and none of the files has', async () => {
    const env = [
      '{ name: A, valueFrom: { configMapKeyRef: { name: settings, key: a } } }',
      '{ name: B, valueFrom: { configMapKeyRef: { name: settings, key: b } } }',
      '{ name: C, valueFrom: { configMapKeyRef: { name: none, key: c, optional: true } } }',
      '{ name: D, valueFrom: { secretKeyRef: { name: login, key: d } } }',
      '{ name: E, valueFrom: { secretKeyRef: { name: login, key: e } } }',
    ];
    const file = await write('web.yaml', POD.replace('image: b', `image: b, env: [${env.join()}]`));
    await write(
      'objects.yaml',
      'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: settings }\ndata: { a: x }\n---\n' +
        'apiVersion: v1\nkind: Secret\nmetadata: { name: login, namespace: other }\nstringData: { d: hunter2 }\n',
    );
    const { code, stdout, stderr } = await validate([folder, '--node-name', 'n']);
    expect(code).toBe(0);
    expect(stdout.split('\n')).toEqual([
      'DIR/web.yaml:1: pod/web-n in namespace default is valid',
      'DIR/objects.yaml:1: configmap/settings in namespace default is valid',
      'DIR/objects.yaml:6: secret/login in namespace other is valid',
      '',
    ]);
    const at = (index: number, ref: string): string =>
      `spec.containers[0].env[${index}].valueFrom.${ref}.name: `;
    expect(stderr.split('\n').map((line) => line.replace(/yaml:4:\d+/, 'yaml:4'))).toEqual([
      `warning: DIR/web.yaml:4: ${at(1, 'configMapKeyRef')}the ConfigMap "settings" of the namespace default has no entry "b": the pod waits until there is one`,
      `warning: DIR/web.yaml:4: ${at(3, 'secretKeyRef')}the Secret "login" of the namespace default is in none of these files: the pod waits until there is one`,
      '',
    ]);
    const json = await validate(['-o', 'json', folder]);
    expect(json.stdout).not.toContain('hunter2');
    expect(JSON.parse(json.stdout)).toMatchObject({
      objects: [
        { kind: 'ConfigMap', name: 'settings', line: 1 },
        { kind: 'Secret', namespace: 'other' },
      ],
      warnings: [{ kind: 'not-found', line: 4, pod: 'web' }, { kind: 'not-found' }],
      problems: [],
    });
    const twice = await write(
      'twice.yaml',
      'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: settings }\n',
    );
    expect((await validate([file, folder, twice])).stderr).toMatch(
      /error: DIR\/twice.yaml:1:1: metadata.name: Duplicate value: "settings": the ConfigMap stands at DIR\/objects.yaml:1 already\n/,
    );
  });

  it('says what cannot be read', async () => {
    const { code, stderr } = await validate([join(folder, 'gone.yaml'), folder]);
    expect(code).toBe(1);
    expect(stderr.split('\n')).toEqual([
      'error: DIR/gone.yaml: no such file or folder',
      'error: DIR:1:1: there is no .yaml, .yml, .json, .manifest file in it',
      'error: 2 problems; 0 valid pods',
      '',
    ]);
  });

  it('prints one object for programs', async () => {
    const good = await write('good.yaml', POD.replace('}', ', uid: u1 }'));
    const bad = await write('bad.yaml', POD.replace('image: b', 'image: 3'));
    const { code, stdout, stderr } = await validate([good, bad, '-o', 'json', '--node-name', 'n']);
    expect(code).toBe(1);
    expect(stderr).toBe('error: 1 problem; 1 valid pod\n');
    expect(JSON.parse(stdout)).toEqual({
      pods: [
        {
          ...{ file: 'DIR/good.yaml', line: 1, column: 1, name: 'web-n', namespace: 'default', uid: 'u1' },
          hash: expect.stringMatching(/^[0-9a-f]{32}$/) as string,
        },
      ],
      problems: [
        {
          ...{ file: 'DIR/bad.yaml', line: 4, column: 40, kind: 'type', pod: 'web', namespace: '' },
          path: 'spec.containers[0].image',
          message: 'must be a string, not 3; put it in quotes',
        },
      ],
      ...{ objects: [], warnings: [], passedOver: [] },
    });
  });

  it('lets no manifest write lines of its own', async () => {
    const file = await write('evil.yaml', '');
    await writeFile(
      file,
      POD.replace('{ name: web', '{ labels: { "\\e[31m\\n": "" }, name: "a\\nerror: b\\e[31m"'),
    );
    const { stderr } = await validate([file]);
    expect(stderr.split('\n')).toHaveLength(4);
    expect(stderr).not.toContain('\u001b');
  });

  it('is told which node it is about, and with what', async () => {
    expect((await validate(['--node-name', 'a b', 'x'])).stderr).toMatch(
      /invalid argument "a b" for "--node-name" flag: use /,
    );
    expect((await validate([])).stderr).toMatch(/missing required argument/);
  });
});

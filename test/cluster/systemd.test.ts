import { chmod, copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ContainerStatus, type Node, type Pod } from '../../src/cluster/client/kube-objects.js';
import { findFreePort } from '#support/clients/tcp-client.js';
import { PODLOOP_MAIN } from '../integration/podloop-process.js';
import { HOST_IMAGE } from './harness/cluster-agent.js';
import { findClusterBinaries } from './harness/cluster-binaries.js';
import { ControlPlane } from './harness/control-plane.js';
import { isReady } from './harness/is-ready.js';
import { findOwnIp } from './harness/own-ip.js';
import { findSystemdProblem, Systemd } from './harness/systemd.js';
import { untilAsync } from './harness/until-async.js';

const found = findClusterBinaries();
const problem = 'missing' in found ? found.missing : await findSystemdProblem();
const UNIT = 'podloop-node';
const EXAMPLE = fileURLToPath(new URL('../../examples/systemd/podloop-node.service', import.meta.url));
const NODE = 'systemd-1';
const POD = '/api/v1/namespaces/default/pods/stays';
const TOKEN = { id: 'abcdef', secret: '0123456789abcdef' };
/** As of `kubectl -n kube-system get cm kubelet-config -o jsonpath='{.data.kubelet}'` in a cluster of kubeadm. */
const KUBELET_CONFIG = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
authentication:
  anonymous: { enabled: false }
  webhook: { cacheTTL: 0s, enabled: true }
  x509: { clientCAFile: /etc/kubernetes/pki/ca.crt }
authorization:
  mode: Webhook
  webhook: { cacheAuthorizedTTL: 0s, cacheUnauthorizedTTL: 0s }
cgroupDriver: systemd
clusterDNS: [10.96.0.10]
clusterDomain: cluster.local
containerRuntimeEndpoint: ""
healthzBindAddress: 127.0.0.1
healthzPort: 10248
logging:
  flushFrequency: 0
  options:
    json: { infoBufferSize: "0" }
    text: { infoBufferSize: "0" }
  verbosity: 0
memorySwap: {}
rotateCertificates: true
shutdownGracePeriod: 0s
staticPodPath: /etc/kubernetes/manifests
syncFrequency: 0s
`;
/** Programs that end and start, on a loaded machine. */
const LIMIT_MS = 120_000;

if (problem !== undefined) console.warn(`the unit for systemd is not tried: ${problem}`);

/** The example as it is, under a systemd that has nothing else to do. */
describe.skipIf(problem !== undefined)('the unit of a node, under a real systemd', () => {
  let plane: ControlPlane;
  let systemd: Systemd;
  // What was started, the last first; also when what comes after it fails.
  const started: AsyncDisposable[] = [];

  beforeAll(async () => {
    if ('missing' in found) return;
    plane = await ControlPlane.start(found);
    started.unshift(plane);
    await letNodesJoin();
    systemd = await Systemd.start();
    started.unshift(systemd);
    await install();
  });

  afterAll(async () => {
    for (const each of started) await each[Symbol.asyncDispose]();
  });

  const get = async <T>(path: string): Promise<T> => plane.admin.request<T>({ method: 'GET', path });
  const at = (...names: string[]): string => join(systemd.folder, ...names);

  /** What kubeadm sets up: a token, and that who has it becomes a node. */
  async function letNodesJoin(): Promise<void> {
    const apiGroup = 'rbac.authorization.k8s.io';
    const roles = {
      'system:node-bootstrapper': 'system:bootstrappers',
      'system:certificates.k8s.io:certificatesigningrequests:nodeclient': 'system:bootstrappers',
    };
    for (const [name, group] of Object.entries(roles)) {
      await plane.admin.request({
        ...{ method: 'POST', path: `/apis/${apiGroup}/v1/clusterrolebindings` },
        body: {
          ...{ metadata: { name: `test:${name}` }, roleRef: { apiGroup, kind: 'ClusterRole', name } },
          subjects: [{ apiGroup, kind: 'Group', name: group }],
        },
      });
    }
    await plane.admin.request({
      ...{ method: 'POST', path: '/api/v1/namespaces/kube-system/secrets' },
      body: {
        metadata: { name: `bootstrap-token-${TOKEN.id}` },
        type: 'bootstrap.kubernetes.io/token',
        stringData: {
          ...{ 'token-id': TOKEN.id, 'token-secret': TOKEN.secret, 'usage-bootstrap-authentication': 'true' },
        },
      },
    });
  }

  /** As the unit's own comment says. What the test wants besides goes where the unit offers a place for it. */
  async function install(): Promise<void> {
    const bootstrap = {
      ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'lab' },
      clusters: [
        {
          name: 'lab',
          cluster: { server: plane.server, 'certificate-authority': plane.keys.file('ca.crt') },
        },
      ],
      users: [{ name: 'lab', user: { token: `${TOKEN.id}.${TOKEN.secret}` } }],
      contexts: [{ name: 'lab', context: { cluster: 'lab', user: 'lab' } }],
    };
    const args = [
      ...['--runtime-endpoint', 'embedded', '--network', 'host', '--read-only-port', '0'],
      ...['--node-name', NODE, '--node-ip', findOwnIp(), '--port', String(await findFreePort())],
      ...['--healthz-port', '0'],
    ];
    const from = at('install');
    await mkdir(from);
    await writeFile(join(from, 'bootstrap.kubeconfig'), JSON.stringify(bootstrap));
    await writeFile(join(from, 'kubelet.yaml'), KUBELET_CONFIG);
    await writeFile(join(from, 'node.env'), `PODLOOP_NODE_ARGS="${args.join(' ')}"\n`);
    await writeFile(join(from, 'podloop'), `#!/bin/sh\nexec '${process.execPath}' '${PODLOOP_MAIN}' "$@"\n`);
    await chmod(join(from, 'podloop'), 0o755);
    await systemd.inside('install', '-D', '-m', '0755', join(from, 'podloop'), '/usr/local/bin/podloop');
    const secret = ['install', '-D', '-m', '0600', join(from, 'bootstrap.kubeconfig')] as const;
    await systemd.inside(...secret, '/etc/podloop/bootstrap.kubeconfig');
    await systemd.inside('install', '-m', '0644', plane.keys.file('ca.crt'), '/etc/podloop/ca.crt');
    await systemd.inside('install', '-m', '0644', join(from, 'node.env'), '/etc/podloop/node.env');
    await systemd.inside('install', '-m', '0644', join(from, 'kubelet.yaml'), '/etc/podloop/kubelet.yaml');
    await copyFile(EXAMPLE, at('units', `${UNIT}.service`));
    // There is no journal; and who is aborted is to leave no core behind.
    await override('test.conf', `StandardOutput=append:${at('log')}\nStandardError=inherit\nLimitCORE=0\n`);
  }

  async function override(name: string, lines: string): Promise<void> {
    await systemd.writeUnit(`${UNIT}.service.d/${name}`, `[Service]\n${lines}`);
    await systemd.systemctl('daemon-reload');
  }

  /** Waits; what never comes is told with what systemd and the agent say. */
  async function until<T>(what: string, look: () => Promise<T | undefined | false>): Promise<T> {
    try {
      return await untilAsync(what, look, LIMIT_MS);
    } catch (error) {
      throw new Error(`${(error as Error).message}\n${await tellState()}`, { cause: error });
    }
  }

  async function tellState(): Promise<string> {
    const properties = 'ActiveState,SubState,Result,StatusText,NRestarts,ExecMainCode,ExecMainStatus';
    const state = await systemd.systemctl('show', UNIT, '--property', properties).catch(String);
    return `${state}\n${(await readFile(at('log'), 'utf8').catch(String)).slice(-8_000)}`;
  }

  /** A command that has to succeed. */
  async function systemctl(...args: readonly string[]): Promise<void> {
    try {
      await systemd.systemctl(...args);
    } catch (error) {
      throw new Error(`systemctl ${args.join(' ')} failed\n${await tellState()}`, { cause: error });
    }
  }

  const show = async (property: string): Promise<string> => systemd.show(UNIT, property);
  const agentPid = async (): Promise<number> => Number(await show('MainPID'));

  /** The process of the pod, as systemd's processes number it. */
  async function podPid(): Promise<string> {
    // The oldest: a child of it that is to become a sleep has its command line for a moment.
    return (await systemd.inside('pgrep', '-o', '-f', 'stays-for-ever')).trim();
  }

  async function containerStatus(): Promise<ContainerStatus> {
    const pod = await get<Pod>(POD);
    return pod.status!.containerStatuses![0]!;
  }

  /** A sign that the agent works with its runtime and its cluster: it takes on another pod. */
  async function expectWorks(name: string): Promise<void> {
    await makePod(name);
    await until(`the pod ${name}`, async () => isReady(await get<Pod>(POD.replace('stays', name))));
  }

  async function makePod(name: string): Promise<void> {
    const script = `trap 'exit 0' TERM; : ${name}-for-ever; while :; do sleep 0.2; done`;
    const container = { name: 'main', image: HOST_IMAGE, command: ['sh', '-c', script] };
    await plane.admin.request({
      ...{ method: 'POST', path: '/api/v1/namespaces/default/pods' },
      body: {
        ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name } },
        spec: { nodeName: NODE, terminationGracePeriodSeconds: 5, containers: [container] },
      },
    });
  }

  it('is started once the agent says that it is ready, and the node joins', async () => {
    await systemctl('start', UNIT);
    expect(await show('ActiveState')).toBe('active');
    // Comes in one message with READY=1.
    expect(await show('StatusText')).toBe('Keeps pods running');
    const log = await readFile(at('log'), 'utf8');
    expect(log).toContain('Started node agent');
    // Of verbosity 2 and up: what kubeadm's file says of that does not hold.
    expect(log).toContain('Starting the sync loop');
    // What the cluster tells its kubelets is all heeded.
    expect(log).not.toContain('has no effect');
    await until('a node that is ready', async () => isReady(await get<Node>(`/api/v1/nodes/${NODE}`)));
  });

  it('keeps its keys for root alone', async () => {
    const modes = async (...paths: string[]): Promise<string> =>
      (await systemd.inside('stat', '-L', '-c', '%a %U %n', ...paths)).trim();
    expect(await modes('/var/lib/podloop')).toBe('700 root /var/lib/podloop');
    const key = '/var/lib/podloop/pki/kubelet-client-current.pem';
    expect(await modes(key)).toBe(`600 root ${key}`);
    expect(await modes('/var/lib/podloop/kubeconfig')).toBe('600 root /var/lib/podloop/kubeconfig');
    const open = ['/var/lib/podloop/pki', '-type', 'f', '-perm', '/077'];
    expect(await systemd.inside('find', ...open)).toBe('');
  });

  it('is started again when it is killed, and its pods go on', async () => {
    await makePod('stays');
    await until('a pod that is ready', async () => isReady(await get<Pod>(POD)));
    const before = [(await containerStatus()).containerID, await podPid()];
    const killed = await agentPid();
    await systemctl('kill', '-s', 'KILL', '--kill-whom=main', UNIT);
    await until('another agent', async () => {
      const pid = await agentPid();
      return pid > 0 && pid !== killed && (await show('ActiveState')) === 'active';
    });
    expect(await show('NRestarts')).toBe('1');
    await expectWorks('after-kill');
    expect([(await containerStatus()).containerID, await podPid()]).toEqual(before);
    expect((await containerStatus()).restartCount).toBe(0);
  });

  it('is reached by the API server, and tells pods the name server of their cluster', async () => {
    const resolvers = await plane.kubectl('exec', 'stays', '--', 'cat', '/etc/resolv.conf');
    expect(resolvers).toContain('nameserver 10.96.0.10\n');
    expect(resolvers).toContain('svc.cluster.local');
  });

  it('is started again when it no longer says that it lives', async () => {
    const before = [(await containerStatus()).containerID, await podPid()];
    await override('watchdog.conf', 'WatchdogSec=5\n');
    await systemctl('restart', UNIT);
    const stopped = await agentPid();
    await systemctl('kill', '-s', 'STOP', '--kill-whom=main', UNIT);
    // Nothing but the watchdog ends who does not run. On a loaded machine the next one may be too late as well.
    await until('an end by the watchdog', async () => Number(await show('NRestarts')) > 0);
    await override('watchdog.conf', '');
    await until('another agent', async () => {
      const pid = await agentPid();
      return pid > 0 && pid !== stopped && (await show('ActiveState')) === 'active';
    });
    await expectWorks('after-watchdog');
    expect([(await containerStatus()).containerID, await podPid()]).toEqual(before);
    expect((await containerStatus()).restartCount).toBe(0);
  });

  it('is stopped without its pods, and takes them up again', async () => {
    const before = [(await containerStatus()).containerID, await podPid()];
    await systemctl('stop', UNIT);
    expect(await show('ActiveState')).toBe('inactive');
    expect(await show('Result')).toBe('success');
    expect(await show('ExecMainStatus')).toBe('0');
    expect(await podPid()).toBe(before[1]);
    await systemctl('start', UNIT);
    await expectWorks('after-stop');
    expect([(await containerStatus()).containerID, await podPid()]).toEqual(before);
    expect((await containerStatus()).restartCount).toBe(0);
  });
});

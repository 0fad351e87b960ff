/**
 * A real control plane on this machine: etcd, kube-apiserver, kube-controller-manager and kube-scheduler, on loopback, with
 * certificates and a folder of their own.
 *
 * Nothing of it is faked; it has no nodes until a test starts some.
 *
 * @module
 */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type KubeClient } from '../../../src/cluster/client/kube-client.js';
import { type KubeClients, openKubeClients } from '../../../src/cluster/client/open-kube-clients.js';
import { askPort, findFreePort } from '#support/clients/tcp-client.js';
import { SystemClock } from '#base/time/clock.js';
import { SILENT_LOGGER } from '#base/log/logger.js';
import { type ClusterBinaries } from './cluster-binaries.js';
import { ClusterKeys } from './cluster-keys.js';
import { Component } from './component.js';
import { untilAsync } from './until-async.js';

const run = promisify(execFile);

/** The processes, in the order in which they start. */
export const COMPONENTS = ['etcd', 'apiServer', 'controllerManager', 'scheduler'] as const;
export type ComponentName = (typeof COMPONENTS)[number];

/** What {@link ControlPlane.start} takes. */
export interface ControlPlaneOptions {
  readonly binaries: ClusterBinaries;
  /** Further flags of single processes, behind those that the harness sets. */
  readonly args?: Partial<Record<ComponentName, readonly string[]>>;
}

/** Who the API server is towards nodes: nobody special, but for what rules let him do. */
const KUBELET_CLIENT = 'kube-apiserver-kubelet-client';
/** And towards other API servers. */
const FRONT_PROXY = 'front-proxy';

/** The token of {@link ControlPlane.tokenUser}. */
export const TEST_TOKEN = 'test-token-of-the-lab';

interface Ports {
  readonly etcd: number;
  readonly etcdPeer: number;
  readonly api: number;
  readonly controllerManager: number;
  readonly scheduler: number;
}

/** See the module. */
export class ControlPlane implements AsyncDisposable {
  readonly folder: string;
  readonly keys: ClusterKeys;
  /** As in `https://127.0.0.1:34567`. */
  readonly server: string;
  /** Who is in `system:masters`. */
  readonly adminKubeconfig: string;
  readonly components: Readonly<Record<ComponentName, Component>>;
  readonly #binaries: ClusterBinaries;
  readonly #clients: KubeClients;

  /** Starts everything and waits until pods can be made. Leaves nothing behind when it rejects. */
  static async start(options: ControlPlaneOptions): Promise<ControlPlane> {
    const folder = await mkdtemp(join(tmpdir(), 'podloop-cluster-'));
    try {
      const keys = await ClusterKeys.make(folder);
      const ports: Ports = {
        ...{ etcd: await findFreePort(), etcdPeer: await findFreePort(), api: await findFreePort() },
        ...{ controllerManager: await findFreePort(), scheduler: await findFreePort() },
      };
      const server = `https://127.0.0.1:${ports.api}`;
      const adminKubeconfig = await keys.makeKubeconfig(server, 'admin', 'admin', 'system:masters');
      const clients = await openKubeClients({
        ...{ file: adminKubeconfig, version: 'test', clock: new SystemClock(), logger: SILENT_LOGGER },
        ...{ rateLimit: { perSecond: Infinity, burst: 1 }, heartbeatTimeoutMs: 10_000, environment: {} },
      });
      const args = await makeArgs(keys, ports, server);
      const plane = new ControlPlane(folder, keys, server, adminKubeconfig, options, args, ports, clients);
      try {
        await plane.#start();
        return plane;
      } catch (error) {
        await plane[Symbol.asyncDispose]();
        throw error;
      }
    } catch (error) {
      await rm(folder, { recursive: true, force: true });
      throw error;
    }
  }

  private constructor(
    folder: string,
    keys: ClusterKeys,
    server: string,
    adminKubeconfig: string,
    { binaries, args: more = {} }: ControlPlaneOptions,
    args: Readonly<Record<ComponentName, readonly string[]>>,
    ports: Ports,
    clients: KubeClients,
  ) {
    this.folder = folder;
    this.keys = keys;
    this.server = server;
    this.adminKubeconfig = adminKubeconfig;
    this.#binaries = binaries;
    this.#clients = clients;
    const component = (name: ComponentName, isReady: () => Promise<boolean>): Component =>
      new Component({
        ...{ name, program: binaries[name], logFile: join(folder, `${name}.log`), isReady },
        args: [...args[name], ...(more[name] ?? [])],
      });
    const answers = async (port: number, path: string, tls?: object): Promise<boolean> =>
      (await askPort(port, path, { tls, timeout: 5_000 })).code === 200;
    const admin = { cert: readFile(keys.file('admin.crt')), key: readFile(keys.file('admin.key')) };
    const asAdmin = async (): Promise<object> => ({ cert: await admin.cert, key: await admin.key });
    this.components = {
      etcd: component('etcd', async () => answers(ports.etcd, '/health')),
      apiServer: component('apiServer', async () => answers(ports.api, '/readyz', await asAdmin())),
      controllerManager: component('controllerManager', async () =>
        answers(ports.controllerManager, '/healthz', {}),
      ),
      scheduler: component('scheduler', async () => answers(ports.scheduler, '/healthz', {})),
    };
  }

  /** The API server, as somebody who may do anything. */
  get admin(): KubeClient {
    return this.#clients.api;
  }

  /** A kubeconfig as a node has it: `system:node:NAME` in `system:nodes`. */
  async nodeKubeconfig(nodeName: string): Promise<string> {
    return await this.keys.makeKubeconfig(
      this.server,
      `node-${nodeName}`,
      `system:node:${nodeName}`,
      'system:nodes',
    );
  }

  /** What kubectl prints, as admin. Rejects with what it complains of. */
  async kubectl(...args: readonly string[]): Promise<string> {
    const { kubectl } = this.#binaries;
    if (kubectl === undefined) throw new Error('there is no kubectl in KUBEBUILDER_ASSETS or on the PATH');
    const all = ['--kubeconfig', this.adminKubeconfig, ...args];
    const env = { ...process.env, HOME: this.folder };
    return (await run(kubectl, all, { timeout: 600_000, env, maxBuffer: 64 * 1024 * 1024 })).stdout;
  }

  /** Kills and starts again. */
  async restart(name: ComponentName): Promise<void> {
    await this.components[name].kill();
    await this.components[name].start();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#clients.close();
    // Nothing of it is kept: there is nobody to say goodbye to.
    for (const name of [...COMPONENTS].reverse()) await this.components[name].kill();
    await rm(this.folder, { recursive: true, force: true });
  }

  async #start(): Promise<void> {
    const { etcd, apiServer, controllerManager, scheduler } = this.components;
    await etcd.start();
    await apiServer.start();
    await Promise.all([controllerManager.start(), scheduler.start(), this.#letInToNodes()]);
    // Without it no pod is taken.
    const path = '/api/v1/namespaces/default/serviceaccounts/default';
    await untilAsync('the default service account', async () => {
      await this.admin.request({ method: 'GET', path });
      return true;
    });
  }

  /** What installers do for the API server's own client. */
  async #letInToNodes(): Promise<void> {
    const apiGroup = 'rbac.authorization.k8s.io';
    const body = {
      metadata: { name: KUBELET_CLIENT },
      roleRef: { apiGroup, kind: 'ClusterRole', name: 'system:kubelet-api-admin' },
      subjects: [{ apiGroup, kind: 'User', name: KUBELET_CLIENT }],
    };
    const path = `/apis/${apiGroup}/v1/clusterrolebindings`;
    await this.admin.request({ method: 'POST', path, body });
  }
}

async function makeArgs(
  keys: ClusterKeys,
  ports: Ports,
  server: string,
): Promise<Record<ComponentName, string[]>> {
  const file = (name: string): string => keys.file(name);
  const etcdUrl = `http://127.0.0.1:${ports.etcd}`;
  const peerUrl = `http://127.0.0.1:${ports.etcdPeer}`;
  await mkdir(file('certs'));
  await writeFile(file('tokens.csv'), `${TEST_TOKEN},token-user,token-user,"system:authenticated"\n`);
  await keys.makeClient('apiserver-kubelet', KUBELET_CLIENT);
  await keys.makeClient(FRONT_PROXY, FRONT_PROXY);
  const manager = await keys.makeKubeconfig(server, 'manager', 'system:kube-controller-manager');
  const scheduler = await keys.makeKubeconfig(server, 'scheduler', 'system:kube-scheduler');
  const asks = (kubeconfig: string): string[] => [
    ...[`--kubeconfig=${kubeconfig}`, `--authentication-kubeconfig=${kubeconfig}`],
    ...[`--authorization-kubeconfig=${kubeconfig}`, '--leader-elect=false', '--bind-address=127.0.0.1'],
    `--cert-dir=${file('certs')}`,
  ];
  return {
    etcd: [
      ...['--name=lab', `--data-dir=${file('etcd')}`, '--unsafe-no-fsync', '--log-level=warn'],
      ...[`--listen-client-urls=${etcdUrl}`, `--advertise-client-urls=${etcdUrl}`],
      ...[`--listen-peer-urls=${peerUrl}`, `--initial-advertise-peer-urls=${peerUrl}`],
      `--initial-cluster=lab=${peerUrl}`,
    ],
    apiServer: [
      ...[`--etcd-servers=${etcdUrl}`, `--secure-port=${ports.api}`, '--bind-address=127.0.0.1'],
      // The service `kubernetes` cannot lead to a loopback address.
      ...['--advertise-address=127.0.0.1', '--endpoint-reconciler-type=none'],
      ...[`--tls-cert-file=${file('apiserver.crt')}`, `--tls-private-key-file=${file('apiserver.key')}`],
      ...[`--client-ca-file=${file('ca.crt')}`, `--token-auth-file=${file('tokens.csv')}`],
      ...['--authorization-mode=Node,RBAC', '--enable-admission-plugins=NodeRestriction'],
      ...['--enable-bootstrap-token-auth', '--allow-privileged', '--anonymous-auth=false'],
      ...['--service-cluster-ip-range=10.96.0.0/16', `--cert-dir=${file('certs')}`],
      ...['--service-account-issuer=https://kubernetes.default.svc'],
      ...[
        `--service-account-signing-key-file=${file('sa.key')}`,
        `--service-account-key-file=${file('sa.pub')}`,
      ],
      `--kubelet-client-certificate=${file('apiserver-kubelet.crt')}`,
      `--kubelet-client-key=${file('apiserver-kubelet.key')}`,
      '--kubelet-preferred-address-types=InternalIP,Hostname',
      // Servers that it aggregates know it by that.
      ...[`--requestheader-client-ca-file=${file('ca.crt')}`, `--requestheader-allowed-names=${FRONT_PROXY}`],
      ...['--requestheader-username-headers=X-Remote-User', '--requestheader-group-headers=X-Remote-Group'],
      '--requestheader-extra-headers-prefix=X-Remote-Extra-',
      ...[`--proxy-client-cert-file=${file('front-proxy.crt')}`],
      `--proxy-client-key-file=${file('front-proxy.key')}`,
    ],
    controllerManager: [
      ...asks(manager),
      ...[`--secure-port=${ports.controllerManager}`, '--controllers=*,bootstrapsigner,tokencleaner'],
      ...[`--service-account-private-key-file=${file('sa.key')}`, `--root-ca-file=${file('ca.crt')}`],
      ...[`--cluster-signing-cert-file=${file('ca.crt')}`, `--cluster-signing-key-file=${file('ca.key')}`],
      '--use-service-account-credentials',
    ],
    scheduler: [...asks(scheduler), `--secure-port=${ports.scheduler}`],
  };
}

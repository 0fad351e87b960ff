/**
 * How a node comes to be known to its API server, and stays so: a kubeconfig, a client certificate that is renewed in time,
 * and a bootstrap kubeconfig for when there is none that is good.
 *
 * ```
 * kubeconfig with a good certificate of this node ──────────────────────────► clients, renewal
 * none, or its certificate has ended ─► bootstrap kubeconfig ─► request ─► … ─► clients, renewal, kubeconfig written
 * kubeconfig with a token, a program, somebody else's certificate ──────────► clients, and nothing else
 * ```
 *
 * In: the two files and the folder of certificates. Out: clients that are there at once, and send nothing until there is a
 * certificate. What a kubeconfig says that a person wrote is not overwritten because it cannot be read.
 *
 * Source: https://kubernetes.io/docs/reference/access-authn-authz/kubelet-tls-bootstrapping/
 *
 * @module
 */
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { messageOf } from '#base/errors/errors.js';
import { type Logger } from '#base/log/logger.js';
import { untilAborted } from '#base/async/until-aborted.js';
import { readIfThere } from '#base/fs/whole-file.js';
import { type Kubeconfig, type PemSource } from '../client/kubeconfig.js';
import {
  type KubeClients,
  type KubeClientsOptions,
  openKubeClients,
  readKubeconfigFile,
} from '../client/open-kube-clients.js';
import { type NodeEvent } from '../node/node-ports.js';
import { CertificateManager, type RequestConnection } from './certificate-manager.js';
import { CertificateStore } from './certificate-store.js';
import { formatName, nodeSubject } from './certificate-subject.js';
import { type NodeCertificate, isBetter, isOver, readNodeCertificate } from './node-certificate.js';
import { writeKubeconfig } from './write-kubeconfig.js';

/** What {@link openClientEnrollment} needs. */
export interface ClientEnrollmentOptions extends Omit<KubeClientsOptions, 'file' | 'pair'> {
  /** The kubeconfig of the node; it need not be there when there is one to bootstrap with. */
  readonly kubeconfig: string;
  /** The kubeconfig to ask for a certificate with while there is none that is good; empty for none. */
  readonly bootstrapKubeconfig: string;
  readonly certFolder: string;
  readonly nodeName: string;
  /** Whether a certificate that is still good is renewed. */
  readonly isRotated: boolean;
  /** Returns a number in [0, 1) (default: Math.random). */
  readonly random?: () => number;
}

/** A node as a client of its API server. */
export interface ClientEnrollment {
  readonly clients: KubeClients;
  /** Why it has nothing to show, where that was tried; undefined when it has. */
  findProblem(): string | undefined;
  /** Resolves once the node has something to show; rejects with the signal's reason. */
  whenKnown(signal: AbortSignal): Promise<void>;
  /** Sees to that, and that it stays so, until the signal aborts; resolves then. */
  run(signal: AbortSignal, onEvent: (event: NodeEvent) => void): Promise<void>;
}

/** Reads what there is; writes nothing and asks nobody yet. Rejects with KUBECONFIG_INVALID. */
export async function openClientEnrollment(options: ClientEnrollmentOptions): Promise<ClientEnrollment> {
  const {
    kubeconfig,
    bootstrapKubeconfig,
    certFolder,
    nodeName,
    isRotated,
    channels,
    clock,
    logger,
    random,
  } = options;
  const store = new CertificateStore({ folder: certFolder, prefix: 'kubelet-client', clock, logger });
  const found = await look(options, store);
  if (found.isPlain) {
    const clients = await openKubeClients({ ...options, file: found.base });
    return {
      clients,
      findProblem: () => undefined,
      whenKnown: () => Promise.resolve(),
      run: async (signal) => untilAborted(signal),
    };
  }
  let { isToBeWritten } = found;
  let isRunning = false;
  let tell: (event: NodeEvent) => void = () => undefined;
  const write = async (): Promise<void> => {
    if (!isToBeWritten || !isRunning) return;
    await writeKubeconfig(resolve(kubeconfig), found.base, store.currentFile);
    isToBeWritten = false;
    logger.info('Kubeconfig of the node written', { file: kubeconfig });
  };
  const manager = new CertificateManager({
    ...{ use: 'client', store, isRotated, channels, clock, logger, ...(random && { random }) },
    find: async () => await findNewest(options, found.own, store),
    subject: () => nodeSubject(nodeName),
    connect: async (good): Promise<RequestConnection> => {
      if (good !== undefined || bootstrapKubeconfig === '') {
        return { client: clients.api, close: () => undefined };
      }
      // Read each time: its token is replaced more often than it is needed.
      const bootstrap = await openKubeClients({ ...options, file: bootstrapKubeconfig });
      isToBeWritten = true;
      return { client: bootstrap.api, close: () => bootstrap.close() };
    },
    onHeld: write,
    onEvent: (event) => tell(event),
  });
  const pair = {
    get current() {
      return manager.held;
    },
  };
  await manager.open();
  const clients = await openKubeClients({ ...options, file: found.base, pair });
  return {
    clients,
    findProblem: () => manager.findProblem(),
    whenKnown: async (signal) => manager.whenGood(signal),
    run: async (signal, onEvent) => {
      tell = onEvent;
      isRunning = true;
      // An agent that was killed may have got as far as its certificate.
      if (manager.held !== undefined && !isOver(manager.held, clock.now())) {
        await write().catch((error: unknown) => {
          logger.error('Kubeconfig of the node cannot be written', error, { file: kubeconfig });
        });
      }
      await manager.run(signal);
    },
  };
}

/** What was found at the start. */
interface Found {
  /** Where the cluster is, and as whom it is asked unless there is a certificate of this node. */
  readonly base: Kubeconfig;
  /** The kubeconfig as it is there. */
  readonly own: Kubeconfig | undefined;
  readonly isToBeWritten: boolean;
  /** Certificates are somebody else's business here. */
  readonly isPlain: boolean;
}

async function look(options: ClientEnrollmentOptions, store: CertificateStore): Promise<Found> {
  const { kubeconfig, bootstrapKubeconfig, nodeName, isRotated, clock, logger } = options;
  const canBootstrap = bootstrapKubeconfig !== '';
  const file = resolve(kubeconfig);
  // One that is not there, or that a full disk has left empty, is as good as none.
  const text = canBootstrap ? await readIfThere(file) : undefined;
  const own = canBootstrap && (text ?? '').trim() === '' ? undefined : await readKubeconfigFile(kubeconfig);
  if (own !== undefined && own.user.certificate === undefined) {
    return { base: own, own, isToBeWritten: false, isPlain: true };
  }
  const pair = await readPair(own, logger);
  const isOurs = pair?.name === formatName(nodeSubject(nodeName));
  if (own !== undefined && pair !== undefined && !isOurs && !isOver(pair, clock.now())) {
    const message =
      'Client certificate of the kubeconfig is not of this node, and is left to others to renew';
    logger.info(message, { file, name: pair.name });
    return { base: own, own, isToBeWritten: false, isPlain: true };
  }
  const best = await findNewest(options, own, store);
  if (own !== undefined && (!canBootstrap || (best !== undefined && !isOver(best, clock.now())))) {
    // Without a certificate that could be renewed it is what it was: wrong, or to be gone by as it is.
    const isPlain = best === undefined || (!isRotated && !canBootstrap);
    return { base: own, own, isToBeWritten: false, isPlain };
  }
  if (own !== undefined) {
    logger.warn(
      'Client certificate of the kubeconfig is not good any more: the bootstrap kubeconfig is used',
      {
        ...{ file, bootstrapKubeconfig },
        ...(best && { ended: new Date(best.toMs).toISOString() }),
      },
    );
  }
  try {
    const { user: _, ...cluster } = await readKubeconfigFile(bootstrapKubeconfig);
    // As whom one asks for a certificate is not as whom one goes on.
    const base = { ...cluster, user: { impersonation: {} } };
    return { base, own, isToBeWritten: true, isPlain: false };
  } catch (error) {
    if (own === undefined || best === undefined) throw error;
    // Pods need an agent, whoever can be asked: it is tried again.
    logger.error('Bootstrap kubeconfig cannot be used', error, { file: bootstrapKubeconfig });
    return { base: own, own, isToBeWritten: true, isPlain: false };
  }
}

/** The newest certificate of this node: that of the kubeconfig, or one that took its place. */
async function findNewest(
  { nodeName, clock, logger }: ClientEnrollmentOptions,
  own: Kubeconfig | undefined,
  store: CertificateStore,
): Promise<NodeCertificate | undefined> {
  const name = formatName(nodeSubject(nodeName));
  const [one, other] = [await readPair(own, logger), await store.find()].filter(
    (each) => each?.name === name,
  );
  if (one === undefined || other === undefined) return one ?? other;
  return isBetter(other, one, clock.now()) ? other : one;
}

/** What the user of a kubeconfig shows; undefined for what cannot be used. */
async function readPair(
  kubeconfig: Kubeconfig | undefined,
  logger: Logger,
): Promise<NodeCertificate | undefined> {
  const { certificate, key } = kubeconfig?.user ?? {};
  if (certificate === undefined || key === undefined) return undefined;
  try {
    return readNodeCertificate(await readPem(certificate), await readPem(key));
  } catch (error) {
    const why = messageOf(error);
    logger.info('Client certificate of the kubeconfig cannot be used', { file: kubeconfig?.file, why }, 4);
    return undefined;
  }
}

async function readPem(source: PemSource): Promise<string> {
  return 'text' in source ? source.text : await readFile(source.file, 'utf8');
}

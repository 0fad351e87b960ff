import { type Publisher } from '#base/channels/publishing-channel.js';
import { type Clock } from '#base/time/clock.js';
import { type Logger } from '#base/log/logger.js';
import { type KubeClient } from '../client/kube-client.js';
import { type NodeAddress } from '../node/node-object.js';
import { type NodeEvent } from '../node/node-ports.js';
import { CertificateManager } from './certificate-manager.js';
import { CertificateStore } from './certificate-store.js';
import { servingSubject } from './certificate-subject.js';

/** What {@link openServingCertificate} needs. */
export interface ServingCertificateOptions extends Publisher {
  readonly certFolder: string;
  readonly nodeName: string;
  /** Under which the node is found, as of now; none while nobody knows. */
  readonly addresses: () => readonly NodeAddress[];
  /** The API server, as the node. */
  readonly client: KubeClient;
  readonly onEvent: (event: NodeEvent) => void;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Returns a number in [0, 1) (default: Math.random). */
  readonly random?: () => number;
}

/**
 * Keeps a certificate in the folder that the cluster has signed for the node as a server, under the addresses that it has. Whoever
 * serves reads it there.
 */
export function openServingCertificate(options: ServingCertificateOptions): CertificateManager {
  const { certFolder, nodeName, addresses, client, onEvent, channels, clock, logger, random } = options;
  const store = new CertificateStore({ folder: certFolder, prefix: 'kubelet-server', clock, logger });
  return new CertificateManager({
    ...{ use: 'server', store, isRotated: true, onEvent, channels, clock, logger, ...(random && { random }) },
    find: async () => await store.find(),
    subject: () => servingSubject(nodeName, addresses()),
    connect: async () => Promise.resolve({ client, close: () => undefined }),
  });
}

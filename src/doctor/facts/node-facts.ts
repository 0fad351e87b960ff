import { type PlegReport } from '#kube/node/pleg-report.js';
import { type KubeletFacts } from './kubelet-facts.js';
import { type Looked } from '../looked.js';
import { type MachineFacts } from './machine-facts.js';
import { type CertificateFacts, type UnreadFile } from './read-certificates.js';
import { type RuntimeFacts } from './runtime-facts.js';

/** Everything that was found out about a node: what the rules judge. Plain data. */
export interface NodeFacts {
  /** When the examination ended, in milliseconds since the epoch, and what it took. */
  readonly atMs: number;
  readonly tookMs: number;
  readonly runtime: RuntimeFacts;
  readonly machine: MachineFacts;
  readonly certificates: readonly CertificateFacts[];
  readonly certificatesUnread: readonly UnreadFile[];
  readonly kubelet: KubeletFacts;
  /** What podloop's own agent says at /debug/pleg. */
  readonly agent: Looked<PlegReport>;
}

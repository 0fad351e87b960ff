import { type SessionFlags } from '../agent-session.js';

/** The flags of `podloop get`. */
export interface GetFlags extends SessionFlags {
  readonly allNamespaces: boolean;
  readonly selector?: string;
  readonly fieldSelector?: string;
  readonly output?: string;
  readonly watch: boolean;
  readonly watchOnly: boolean;
  readonly outputWatchEvents: boolean;
  readonly ignoreNotFound: boolean;
  /** The contrary of `--no-headers`. */
  readonly headers: boolean;
  readonly showLabels: boolean;
  readonly showKind: boolean;
  readonly labelColumns: readonly string[];
  readonly sortBy?: string;
  readonly allowMissingTemplateKeys: boolean;
}

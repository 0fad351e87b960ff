import { join } from 'node:path';

/** Identifies a pod by the three names that its paths consist of. */
export interface PodPathRef {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/**
 * Where a pod's files are on the node, for the code that creates them and the code that removes them. Pure.
 *
 * ```
 * ROOT/pods/<uid>/                                     the pod's folder
 * ROOT/pods/<uid>/containers/<container>/<count>       the termination message of one start of a container
 * ROOT/pods/<uid>/etc-hosts
 * ROOT/pods/<uid>/end.json                             how the pod ended, once it has
 * ROOT/pods/<uid>/replaced.json                        the parts that were ended for an edit, if any
 * ROOT/pods/<uid>/userns                               the ids of its users on the node, if they have others
 * LOGS/<namespace>_<name>_<uid>/<container>/<count>.log
 * ```
 *
 * Names and uids are validated before: none contains a slash or is `..`.
 */
export class PodPaths {
  readonly #rootDir: string;
  readonly #podLogsDir: string;

  /** Both paths are absolute. */
  constructor(options: { readonly rootDir: string; readonly podLogsDir: string }) {
    this.#rootDir = options.rootDir;
    this.#podLogsDir = options.podLogsDir;
  }

  /** The parent of all pods' folders. */
  get podsDir(): string {
    return join(this.#rootDir, 'pods');
  }

  get podLogsDir(): string {
    return this.#podLogsDir;
  }

  podDir(uid: string): string {
    return join(this.podsDir, uid);
  }

  containerDir(uid: string, container: string): string {
    return join(this.podDir(uid), 'containers', container);
  }

  terminationMessageFile(uid: string, container: string, restartCount: number): string {
    return join(this.containerDir(uid, container), String(restartCount));
  }

  hostsFile(uid: string): string {
    return join(this.podDir(uid), 'etc-hosts');
  }

  endFile(uid: string): string {
    return join(this.podDir(uid), 'end.json');
  }

  replacedFile(uid: string): string {
    return join(this.podDir(uid), 'replaced.json');
  }

  /** Named as the kubelet's, with the same content. */
  idRangeFile(uid: string): string {
    return join(this.podDir(uid), 'userns');
  }

  logDir({ namespace, name, uid }: PodPathRef): string {
    return join(this.#podLogsDir, `${namespace}_${name}_${uid}`);
  }

  containerLogDir(pod: PodPathRef, container: string): string {
    return join(this.logDir(pod), container);
  }

  containerLogFile(pod: PodPathRef, container: string, restartCount: number): string {
    return join(this.logDir(pod), containerLogPath(container, restartCount));
  }
}

/** The path of a container's log below the pod's log folder, as CRI expects it. */
export function containerLogPath(container: string, restartCount: number): string {
  return `${container}/${restartCount}.log`;
}

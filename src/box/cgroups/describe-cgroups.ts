import { type DetectedCgroups } from './detect-cgroups.js';

/** The description for the log and Status. */
export interface CgroupsDescription {
  readonly version: 'none' | 'v1' | 'v2' | 'v1 and v2';
  readonly controllers: readonly string[];
  /** Controllers without which something is not limited. */
  readonly missing: readonly string[];
  /** Why there is not more, a sentence each. */
  readonly reasons: readonly string[];
  /** Without CAP_SYS_RESOURCE an OOM score below the runtime's own stays without effect. */
  readonly oomScore: 'any' | 'raised only';
}

/** What is missed when it is not there. */
const WANTED = ['cpu', 'memory', 'pids', 'cpuset', 'hugetlb'];
/** What every pod asks for. */
const USUAL = ['cpu', 'memory', 'pids'];

/** @param mayLowerOomScore whether we have CAP_SYS_RESOURCE. */
export function describeCgroups(
  { layout, reasons }: DetectedCgroups,
  mayLowerOomScore: boolean,
): CgroupsDescription {
  const versions = new Set(layout.hierarchies.map(({ version }) => version));
  const { controllers } = layout;
  return {
    version: versions.size === 2 ? 'v1 and v2' : versions.has(1) ? 'v1' : versions.has(2) ? 'v2' : 'none',
    controllers,
    missing: WANTED.filter((name) => !controllers.includes(name)),
    reasons,
    oomScore: mayLowerOomScore ? 'any' : 'raised only',
  };
}

/** What is not limited, in a sentence; undefined when everything that pods usually ask for is. */
export function toNotice({ missing, reasons }: CgroupsDescription): string | undefined {
  const unlimited = missing.filter((name) => USUAL.includes(name));
  if (unlimited.length === 0) return undefined;
  // The same is wrong with each tree as a rule; Status has them all in its verbose answer.
  const more = reasons.length > 1 ? `, and ${reasons.length - 1} more like it` : '';
  return `nothing limits ${unlimited.join(', ')} of containers: ${reasons[0] ?? 'no such controller'}${more}`;
}

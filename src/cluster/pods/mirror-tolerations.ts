import { type Pod, type Toleration } from '#kube/pod/pod.js';

/** Nobody who drives pods off the node may take a mirror pod for one that can go. */
const NEVER_DRIVEN_OFF: Toleration = { operator: 'Exists', effect: 'NoExecute' };

/** What the mirror pod of a static pod tolerates, as a kubelet has it: what the manifest says, and whatever drives pods off. Pure. */
export function mirrorTolerations({ spec: { tolerations = [] } }: Pod): readonly Toleration[] {
  // One for a limited time says the same, and less.
  const others = tolerations.filter((each) => !isForEverything(each));
  const at = tolerations.findIndex(isForEverything);
  return at < 0 ? [...others, NEVER_DRIVEN_OFF] : others.toSpliced(at, 0, NEVER_DRIVEN_OFF);
}

function isForEverything({ key = '', operator, value = '', effect }: Toleration): boolean {
  return (
    key === '' && value === '' && operator === NEVER_DRIVEN_OFF.operator && effect === NEVER_DRIVEN_OFF.effect
  );
}

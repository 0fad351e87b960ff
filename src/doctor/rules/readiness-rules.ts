import { formatPod } from '#kube/pod/pod-ref.js';
import { type WaitingPod } from '../facts/kubelet-facts.js';
import { type Finding, podsOf } from '../finding.js';
import { valueOf } from '../looked.js';
import { type RuntimeCondition } from '../runtime-port.js';
import { type Rule } from './rule.js';
import { nameSome } from './words.js';

/** What the runtime says of itself. */
export const readinessRules: Rule = ({ runtime, kubelet }) =>
  (valueOf(runtime.conditions) ?? [])
    .filter(({ status }) => !status)
    .flatMap((condition) => toFinding(condition, valueOf(kubelet.waiting) ?? []));

const MAX_PODS = 10;

function toFinding({ type, reason, message }: RuntimeCondition, waiting: readonly WaitingPod[]): Finding[] {
  const why = [reason, message].filter((word) => word !== '').join(': ');
  const evidence = [`${type}=false${why === '' ? '' : ` (${why})`}`];
  switch (type) {
    case 'NetworkReady': {
      const pods = waiting.filter(({ hasSandbox }) => !hasSandbox);
      const names = pods.slice(0, MAX_PODS).map(({ pod }) => formatPod(pod));
      return [
        {
          ...{ code: 'NetworkNotReady', severity: 'critical', call: 'Status', ...podsOf(pods) },
          evidence:
            pods.length === 0
              ? evidence
              : [...evidence, `without a sandbox: ${nameSome(names, pods.length)}`],
          message: `the runtime’s network (CNI) is not ready${why === '' ? '' : `: ${why}`}; pods with a network of their own do not start`,
          remedy:
            'See that there is a configuration in /etc/cni/net.d and its plugins in /opt/cni/bin, and that the network’s own pods run (on the host network): kubectl get pods -n kube-system -o wide.',
        },
      ];
    }
    case 'RuntimeReady':
      return [
        {
          ...{ code: 'RuntimeNotReady', severity: 'critical', call: 'Status', evidence },
          message: `the runtime says that it is not ready${why === '' ? '' : `: ${why}`}`,
          remedy: 'Its log has the reason: journalctl -u containerd (or crio).',
        },
      ];
    default:
      // Others are news of it rather than ills, such as ContainerdHasNoDeprecationWarnings.
      return [];
  }
}

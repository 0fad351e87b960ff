import { type Finding } from '../finding.js';
import { type CertificateFacts } from '../facts/read-certificates.js';
import { LIMITS } from './limits.js';
import { type Rule } from './rule.js';
import { count } from './words.js';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Whether certificates of the node are about to expire. */
export const certificateRules: Rule = ({ certificates, atMs }) =>
  certificates.flatMap((certificate) => judge(certificate, atMs));

function judge({ path, subject, fromMs, toMs }: CertificateFacts, nowMs: number): Finding[] {
  const leftMs = toMs - nowMs;
  const evidence = [`${subject}: valid until ${new Date(toMs).toISOString()}`];
  const remedy = remedyFor(path);
  if (leftMs <= 0) {
    return [
      {
        ...{ code: 'CertificateExpired', severity: 'critical', evidence, remedy },
        message: `the certificate ${path} expired ${formatLong(-leftMs)} ago`,
      },
    ];
  }
  // One that lives for a day is renewed every few hours, and that is well.
  if (leftMs > LIMITS.certificateLeftMs || leftMs > (toMs - fromMs) * LIMITS.certificateLeftShare) return [];
  return [
    {
      ...{ code: 'CertificateExpires', severity: 'warning', evidence, remedy },
      message: `the certificate ${path} expires in ${formatLong(leftMs)} and was not renewed`,
    },
  ];
}

/** `40 minutes`, `2 hours`, `3 days`. */
function formatLong(ms: number): string {
  if (ms < 2 * HOUR_MS) return count(Math.floor(ms / 60_000), 'minute');
  return ms < 2 * DAY_MS ? count(Math.floor(ms / HOUR_MS), 'hour') : count(Math.floor(ms / DAY_MS), 'day');
}

/** Those of the control plane are renewed by kubeadm, a kubelet's by itself. */
function remedyFor(path: string): string {
  if (path.startsWith('/etc/kubernetes/') && !path.endsWith('/kubelet.conf'))
    return 'Renew it: kubeadm certs renew all (kubeadm certs check-expiration shows each). Then the pods of the control plane have to be restarted, which interrupts the API server for seconds and no other pod.';
  return 'See that rotation is on (rotateCertificates, serverTLSBootstrap) and that requests are approved (kubectl get csr). One that has expired cannot ask for the next: put a bootstrap kubeconfig there (kubeadm init phase kubeconfig kubelet) and restart the kubelet, over which pods go on.';
}

import { type Finding } from '../finding.js';
import { type CertificateFacts } from '../facts/read-certificates.js';
import { LIMITS } from './limits.js';
import { type Rule } from './rule.js';

const DAY_MS = 24 * 3_600_000;

/** Whether certificates of the node are about to expire. */
export const certificateRules: Rule = ({ certificates, atMs }) =>
  certificates.flatMap((certificate) => judge(certificate, atMs));

function judge({ path, subject, fromMs, toMs }: CertificateFacts, nowMs: number): Finding[] {
  const leftMs = toMs - nowMs;
  const evidence = [`${subject}: valid until ${new Date(toMs).toISOString()}`];
  const remedy =
    'See that rotation is on (rotateCertificates, serverTLSBootstrap) and that requests are approved (kubectl get csr); kubeadm certs renew for those that kubeadm made.';
  if (leftMs <= 0) {
    return [
      {
        ...{ code: 'CertificateExpired', severity: 'critical', evidence, remedy },
        message: `the certificate ${path} expired ${Math.floor(-leftMs / DAY_MS)} days ago`,
      },
    ];
  }
  // One that lives for a day is renewed every few hours, and that is well.
  if (leftMs > LIMITS.certificateLeftMs || leftMs > (toMs - fromMs) * LIMITS.certificateLeftShare) return [];
  return [
    {
      ...{ code: 'CertificateExpires', severity: 'warning', evidence, remedy },
      message: `the certificate ${path} expires in ${Math.floor(leftMs / DAY_MS)} days and was not renewed`,
    },
  ];
}

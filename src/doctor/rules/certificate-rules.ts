import { type Finding } from '../finding.js';
import { type CertificateFacts } from '../facts/read-certificates.js';
import { LIMITS } from './limits.js';
import { type Rule } from './rule.js';
import { count } from './words.js';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Whether certificates of the node are about to expire. */
export const certificateRules: Rule = ({ certificates, atMs }) =>
  certificates
    .filter((certificate) => !isReplaced(certificate, certificates))
    .flatMap((each) => judge(each, atMs));

/** What a kubelet has signed itself to serve with: an API server checks it only with --kubelet-certificate-authority, and it is never renewed. */
const SELF_SIGNED = /\/kubelet\.crt$/;
/** With which people come to the cluster: no program of the node needs them. */
const OF_PEOPLE = /\/(?:super-)?admin\.conf$/;

/** A kubelet that has got a certificate to serve with leaves the one that it signed itself where it is. */
function isReplaced({ path }: CertificateFacts, all: readonly CertificateFacts[]): boolean {
  const current = path.replace(SELF_SIGNED, '/kubelet-server-current.pem');
  return current !== path && all.some((other) => other.path === current);
}

function judge({ path, subject, fromMs, toMs }: CertificateFacts, nowMs: number): Finding[] {
  const leftMs = toMs - nowMs;
  const evidence = [`${subject}: valid until ${new Date(toMs).toISOString()}`];
  const remedy = remedyFor(path);
  const isChecked = !SELF_SIGNED.test(path);
  const isOfPeople = OF_PEOPLE.test(path);
  if (leftMs <= 0) {
    return [
      {
        ...{ code: 'CertificateExpired', severity: severityOf(path), evidence, remedy },
        sinceMs: toMs,
        message: `the certificate ${path} expired ${formatLong(-leftMs)} ago${isOfPeople ? ': kubectl with this file is refused, and no pod notices' : ''}`,
      },
    ];
  }
  // One that lives for a day is renewed every few hours, and that is well.
  if (leftMs > LIMITS.certificateLeftMs || leftMs > (toMs - fromMs) * LIMITS.certificateLeftShare) return [];
  return [
    {
      ...{ code: 'CertificateExpires', severity: isChecked ? 'warning' : 'info', evidence, remedy },
      message: `the certificate ${path} expires in ${formatLong(leftMs)} and was not renewed`,
    },
  ];
}

/** Of one that has expired. */
function severityOf(path: string): Finding['severity'] {
  if (SELF_SIGNED.test(path)) return 'info';
  return OF_PEOPLE.test(path) ? 'warning' : 'critical';
}

/** `40 minutes`, `2 hours`, `3 days`. */
function formatLong(ms: number): string {
  if (ms < 2 * HOUR_MS) return count(Math.floor(ms / 60_000), 'minute');
  return ms < 2 * DAY_MS ? count(Math.floor(ms / HOUR_MS), 'hour') : count(Math.floor(ms / DAY_MS), 'day');
}

/** Those of the control plane are renewed by kubeadm, those of k3s by its start, those of a kubelet or of podloop by themselves. */
function remedyFor(path: string): string {
  const [ofPeople] = OF_PEOPLE.exec(path) ?? [];
  if (ofPeople !== undefined)
    return `Renew it, which interrupts nothing: kubeadm certs renew ${ofPeople.slice(1)}; and copy it to where people have it (~/.kube/config).`;
  if (path.startsWith('/etc/kubernetes/') && !path.endsWith('/kubelet.conf'))
    return 'Renew it: kubeadm certs renew all (kubeadm certs check-expiration shows each). Then the pods of the control plane have to be restarted, which interrupts the API server for seconds and no other pod.';
  if (path.startsWith('/var/lib/rancher/'))
    return 'Restart k3s or rke2 (systemctl restart k3s, k3s-agent, rke2-server or rke2-agent), which renews what expires soon; pods go on over that, and on a server the API server is away for seconds.';
  if (path.startsWith('/var/lib/podloop/'))
    return 'See why podloop could not renew it (journalctl -u podloop), and that requests are approved (kubectl get csr). One that has expired is asked for again with --bootstrap-kubeconfig; pods go on meanwhile.';
  if (SELF_SIGNED.test(path))
    return 'The kubelet signed it itself, and the API server checks it only with --kubelet-certificate-authority. Remove it with its key (kubelet.key beside it) and restart the kubelet, which makes another one and over which pods go on.';
  return 'See that rotation is on (rotateCertificates, serverTLSBootstrap) and that requests are approved (kubectl get csr). One that has expired cannot ask for the next: put a bootstrap kubeconfig there (kubeadm init phase kubeconfig kubelet) and restart the kubelet, over which pods go on.';
}

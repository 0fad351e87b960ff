import {
  type CertificatesRead,
  certificatesRead,
  nodeCertificateFailed,
  type NodeCertificateHeld,
  nodeCertificateHeld,
  type NodeCertificateUse,
} from '#base/channels/certificate-channels.js';
import { type MetricsRegistry, type Sample } from '../registry/metrics-registry.js';

/** Ages of replaced certificates, in seconds: the kubelet's buckets, from a minute to four years. */
const AGE_BUCKETS = [
  ...[60, 3_600, 14_400, 86_400, 604_800, 2_592_000],
  ...[7_776_000, 15_552_000, 31_104_000, 124_416_000],
];

/** Reports when the agent's certificates expire, and when it will renew those that its cluster signs. */
export function addCertificateMetrics(registry: MetricsRegistry, nowMs: () => number): void {
  let known: CertificatesRead | undefined;
  const held = new Map<NodeCertificateUse, NodeCertificateHeld>();
  registry.listen(certificatesRead, (newest) => (known = newest));
  registry.listen(nodeCertificateHeld, (newest) => void held.set(newest.use, newest));
  registry.readGauge(
    {
      name: 'kubelet_certificate_manager_server_ttl_seconds',
      help: 'For how long the certificate of the port with TLS is good, below 0 when it has ended; +Inf without such a port.',
    },
    () => (known === undefined ? Infinity : (known.serverEndsAtMs - nowMs()) / 1_000),
  );
  registry.readGauge(
    {
      name: 'podloop_certificate_end_time_seconds',
      help: 'When a certificate ends, in seconds since the epoch: of the port with TLS (server, client_ca), and the node’s as a client of its cluster (client).',
      labels: ['certificate'],
    },
    (): Sample<'certificate'>[] => {
      const { serverEndsAtMs, clientAuthorityEndsAtMs } = known ?? {};
      const client = held.get('client')?.endsAtMs;
      return toSamples({ server: serverEndsAtMs, client_ca: clientAuthorityEndsAtMs, client });
    },
  );
  registry.readGauge(
    {
      name: 'podloop_certificate_renewal_time_seconds',
      help: 'From when on a certificate is renewed that the cluster signs, in seconds since the epoch: client, server.',
      labels: ['certificate'],
    },
    () => toSamples({ client: held.get('client')?.renewedFromMs, server: held.get('server')?.renewedFromMs }),
  );
}

function toSamples(times: Readonly<Record<string, number | undefined>>): Sample<'certificate'>[] {
  return Object.entries(times).flatMap(([certificate, ms]) =>
    ms === undefined || !Number.isFinite(ms) ? [] : [{ labels: { certificate }, value: ms / 1_000 }],
  );
}

/** Reports the certificates of a node of a cluster, like a kubelet. */
export function addNodeCertificateMetrics(registry: MetricsRegistry, nowMs: () => number): void {
  const ages = registry.histogram(
    {
      name: 'kubelet_certificate_manager_server_rotation_seconds',
      help: 'How old certificates of the port with TLS were that the cluster had signed when they were replaced.',
    },
    AGE_BUCKETS,
  );
  let clientEndsAtMs = Infinity;
  registry.listen(nodeCertificateHeld, ({ use, endsAtMs, replacedAgeMs }) => {
    if (use === 'client') clientEndsAtMs = endsAtMs;
    else if (replacedAgeMs !== undefined) ages.observe(replacedAgeMs / 1_000);
  });
  registry.readGauge(
    {
      name: 'kubelet_certificate_manager_client_ttl_seconds',
      help: 'For how long the client certificate of the node is good, below 0 when it has ended; +Inf where it is not the agent that renews it.',
    },
    () => (clientEndsAtMs - nowMs()) / 1_000,
  );
  const failures = {
    client: registry.counter({
      name: 'kubelet_certificate_manager_client_expiration_renew_errors',
      help: 'Tries to get a client certificate for the node that failed.',
    }),
    server: registry.counter({
      name: 'kubelet_server_expiration_renew_errors',
      help: 'Tries to get a certificate for the port with TLS that failed.',
    }),
  };
  registry.listen(nodeCertificateFailed, ({ use }) => failures[use].inc());
}

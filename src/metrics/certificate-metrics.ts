import { type CertificatesRead, certificatesRead } from '../util/certificate-channels.js';
import { type MetricsRegistry, type Sample } from './metrics-registry.js';

/** Tells when the certificates end that the port with TLS goes by. */
export function addCertificateMetrics(registry: MetricsRegistry, nowMs: () => number): void {
  let known: CertificatesRead | undefined;
  registry.listen(certificatesRead, (newest) => (known = newest));
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
      help: 'When a certificate of the port with TLS ends, in seconds since the epoch: server, client_ca.',
      labels: ['certificate'],
    },
    (): Sample<'certificate'>[] => {
      const { serverEndsAtMs, clientAuthorityEndsAtMs } = known ?? {};
      const ends = { server: serverEndsAtMs, client_ca: clientAuthorityEndsAtMs };
      return Object.entries(ends).flatMap(([certificate, endsAtMs]) =>
        endsAtMs === undefined ? [] : [{ labels: { certificate }, value: endsAtMs / 1_000 }],
      );
    },
  );
}

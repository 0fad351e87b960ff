import { createPrivateKey, randomBytes, webcrypto } from 'node:crypto';
import { Integer } from 'asn1js';
import { Certificate, CertificationRequest, CryptoEngine, Extension, Extensions, ExtKeyUsage } from 'pkijs';
import { type CertificatePair } from '../../../src/node/api/tls/make-certificate.js';
import { type Clock } from '#base/time/clock.js';
import { toPem } from '#base/wire/pem.js';
import { OIDS } from '#base/wire/x509-parts.js';
import { type InMemoryApi } from '#testing/in-memory-api/in-memory-api.js';

const PATH = '/apis/certificates.k8s.io/v1/certificatesigningrequests';

/** Signs a request in PEM as it stands, after it was held against its own key; the certificate in PEM. */
export async function signRequest(
  pem: string,
  issuer: CertificatePair,
  { validFrom, validTo }: { readonly validFrom: Date; readonly validTo: Date },
): Promise<string> {
  const engine = new CryptoEngine({ name: 'node', crypto: webcrypto });
  const request = CertificationRequest.fromBER(fromPem(pem));
  if (!(await request.verify(engine))) throw new Error('the request is not signed with its own key');
  const certificate = new Certificate();
  certificate.version = 2;
  certificate.serialNumber = new Integer({ valueHex: new Uint8Array([1, ...randomBytes(8)]).buffer });
  certificate.subject = request.subject;
  certificate.issuer = Certificate.fromBER(fromPem(issuer.cert)).subject;
  certificate.notBefore.value = validFrom;
  certificate.notAfter.value = validTo;
  certificate.subjectPublicKeyInfo = request.subjectPublicKeyInfo;
  const usage = new ExtKeyUsage({ keyPurposes: [OIDS.client, OIDS.server] });
  const asked = (request.attributes ?? []).flatMap(({ type, values }) =>
    type === OIDS.extensionRequest ? new Extensions({ schema: (values as [never])[0] }).extensions : [],
  );
  const purposes = { extnID: OIDS.extKeyUsage, extnValue: usage.toSchema().toBER(false) };
  certificate.extensions = [...asked, new Extension(purposes)];
  const pkcs8 = createPrivateKey(issuer.key).export({ type: 'pkcs8', format: 'der' });
  const key = await webcrypto.subtle.importKey(
    'pkcs8',
    pkcs8,
    { name: 'ECDSA', namedCurve: 'P-256' },
    false,
    ['sign'],
  );
  await certificate.sign(key, 'SHA-256', engine);
  return toPem('CERTIFICATE', certificate.toSchema(true).toBER(false));
}

/** Approves, denies and signs what an in-memory API server is asked to have signed: what people and a controller do. */
export class RequestSigner {
  readonly #api: InMemoryApi;
  readonly #issuer: CertificatePair;
  readonly #clock: Pick<Clock, 'now'>;

  constructor(api: InMemoryApi, issuer: CertificatePair, clock: Pick<Clock, 'now'>) {
    this.#api = api;
    this.#issuer = issuer;
    this.#clock = clock;
  }

  /** The names of what was asked for, in order; again for what was asked for again. */
  get asked(): string[] {
    return this.#api.changes
      .filter(({ method, path }) => method === 'POST' && path === PATH)
      .map(({ body }) => (body as { metadata: { name: string } }).metadata.name);
  }

  /** The spec of a request that is there. */
  specOf(name: string): { readonly request: string; readonly signerName: string; readonly usages: string[] } {
    return this.#api.find(`${PATH}/${name}`)!.spec as ReturnType<RequestSigner['specOf']>;
  }

  /** Has it signed, for so long from now on; `pem`: as if that had been asked for. */
  async approve(
    name: string,
    lifetimeMs: number,
    pem = Buffer.from(this.specOf(name).request, 'base64').toString(),
  ): Promise<void> {
    // Certificates know whole seconds only.
    const nowMs = Math.floor(this.#clock.now() / 1_000) * 1_000;
    const times = { validFrom: new Date(nowMs), validTo: new Date(nowMs + lifetimeMs) };
    const cert = await signRequest(pem, this.#issuer, times);
    const certificate = Buffer.from(cert).toString('base64');
    const conditions = [{ type: 'Approved', status: 'True', reason: 'Tested' }];
    this.#api.change(`${PATH}/${name}`, (request) => ({ ...request, status: { conditions, certificate } }));
  }

  deny(name: string, message: string): void {
    const conditions = [{ type: 'Denied', status: 'True', reason: 'KubectlDeny', message }];
    this.#api.change(`${PATH}/${name}`, (request) => ({ ...request, status: { conditions } }));
  }

  /** As the controller that clears up does. */
  drop(name: string): void {
    this.#api.drop(`${PATH}/${name}`);
  }
}

/** The bytes of the only block in a PEM text. */
function fromPem(pem: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.from(pem.replaceAll(/-----[^-]+-----|\s/g, ''), 'base64'));
}

/**
 * The files of the port with TLS: its certificate and key, the authority of its clients, and their tokens.
 *
 * In: configured files. If no certificate is configured, the one in the folder of certificates with a
 * kubelet's names (the cluster may have signed it), otherwise a self-signed one of the agent there. Out: the
 * present contents. Files are read again on request. If one cannot be used then, that is logged, and its last
 * good content stays, as a certificate and its key are hardly ever replaced in one step. A removed token is
 * removed at once, whatever the state of the certificates.
 *
 * @module
 */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { join } from 'node:path';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import { toOpensslCiphers } from '../tls/cipher-suites.js';
import type { CertificatePair } from '../tls/make-certificate.js';
import { addressesToKeep, isOutworn, SelfSigner } from '../tls/self-signed.js';
import { TokenTable } from '../access/token-table.js';
import { publishTo, type Publisher } from '#base/channels/publishing-channel.js';
import { certificatesRead } from '#base/channels/certificate-channels.js';
import { type Clock } from '#base/time/clock.js';
import { messageOf } from '#base/errors/errors.js';
import { type Logger } from '#base/log/logger.js';
import { makeFolder } from '#base/fs/make-folder.js';
import { certificatesIn, privateKeyIn } from '#base/wire/pem.js';
import { readIfThere, writeWhole } from '#base/fs/whole-file.js';
import { CachedFiles } from '../../cached-files.js';
import { type ServerOptions } from '../../options/server-options.js';
import { readOptionFile, unusableFile } from '#base/fs/read-option-file.js';

/** What {@link TlsFiles} need. */
export interface TlsFilesOptions extends Publisher {
  readonly options: ServerOptions;
  /** The node's present names and addresses, for a certificate of the agent's own. */
  readonly hosts: () => readonly string[];
  /** The folder of such a certificate. */
  readonly folder: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** How many addresses a certificate keeps when they change every day. */
const MAX_HOSTS = 50;

/** See the module. */
export class TlsFiles {
  readonly #options: ServerOptions;
  readonly #channels: Publisher['channels'];
  readonly #pair: CachedFiles<CertificatePair>;
  readonly #authorities: CachedFiles<string>;
  readonly #tokens: CachedFiles<TokenTable>;
  readonly #signer: SelfSigner;

  /** Reads everything. Rejects with OPTION_INVALID naming flag, file and the fix. */
  static async open(given: TlsFilesOptions): Promise<TlsFiles> {
    const { options, logger } = given;
    const { clientCaFile, tokenAuthFile } = options;
    const signer = new SelfSigner();
    let isFirst = true;
    const pair = await CachedFiles.open({
      ...{ what: 'Certificate', flag: '--tls-cert-file', logger },
      read: async () => {
        const text = JSON.stringify(await readPair(given, signer, isFirst));
        isFirst = false;
        return text;
      },
      parse: (text) => checkPair(JSON.parse(text) as CertificatePair, options),
    });
    const authorities = await CachedFiles.open({
      ...{ what: 'Authorities of clients', flag: '--client-ca-file', logger },
      read: async () => readOptionFile('--client-ca-file', clientCaFile),
      parse: (text) => checkAuthorities(text, clientCaFile),
    });
    const tokens = await CachedFiles.open({
      ...{ what: 'Tokens', flag: '--token-auth-file', logger },
      read: async () => readOptionFile('--token-auth-file', tokenAuthFile, true),
      parse: (text) => toTokens(text, tokenAuthFile),
    });
    const files = new TlsFiles(given, signer, pair, authorities, tokens);
    files.#publish();
    return files;
  }

  private constructor(
    { options, channels }: TlsFilesOptions,
    signer: SelfSigner,
    pair: CachedFiles<CertificatePair>,
    authorities: CachedFiles<string>,
    tokens: CachedFiles<TokenTable>,
  ) {
    this.#options = options;
    this.#channels = channels;
    this.#signer = signer;
    this.#pair = pair;
    this.#authorities = authorities;
    this.#tokens = tokens;
  }

  /** The context of new connections. */
  get context(): SecureContextOptions {
    const ca = this.#authorities.value;
    return { ...toContext(this.#pair.value, this.#options), ...(ca === '' ? {} : { ca }) };
  }

  /** The present tokens. */
  get tokens(): TokenTable {
    return this.#tokens.value;
  }

  /**
   * Loads what renewing a certificate of the agent's own needs, if no other is configured. Never rejects.
   *
   * Call it once the agent has started, before an upgrade can replace its files. A failed load is retried at
   * the renewal, and reported then.
   */
  async prepareRenewal(): Promise<void> {
    if (this.#options.tlsCertFile === '') await this.#signer.prepare().catch(() => undefined);
  }

  /** Applies changes of each file; returns whether new connections get something else. Never rejects. */
  async refresh(): Promise<boolean> {
    // First, as a removed token stays valid up to here.
    await this.#tokens.refresh();
    const changes = [await this.#authorities.refresh(), await this.#pair.refresh()];
    const hasChanged = changes.includes(true);
    if (hasChanged) this.#publish();
    return hasChanged;
  }

  #publish(): void {
    const endsOf = (text: string): number[] =>
      certificatesIn(text).map((pem) => Date.parse(new X509Certificate(pem).validTo));
    // Its issuers follow the server's own.
    const [serverEndsAtMs = 0] = endsOf(this.#pair.value.cert);
    const ends = endsOf(this.#authorities.value);
    const clientAuthorityEndsAtMs = ends.length === 0 ? undefined : Math.min(...ends);
    publishTo(this.#channels, certificatesRead, { serverEndsAtMs, clientAuthorityEndsAtMs });
  }
}

async function readPair(
  given: TlsFilesOptions,
  signer: SelfSigner,
  isFirst: boolean,
): Promise<CertificatePair> {
  const { tlsCertFile, tlsPrivateKeyFile } = given.options;
  if (tlsCertFile === '') return (await readPairThere(given, isFirst)) ?? (await ownPair(given, signer));
  const cert = await readOptionFile('--tls-cert-file', tlsCertFile);
  return { cert, key: await readOptionFile('--tls-private-key-file', tlsPrivateKeyFile) };
}

/**
 * A valid certificate with a kubelet's names in the folder: the cluster's, if wanted, otherwise a kubelet's
 * or a person's.
 *
 * Undefined when there is none, or it has expired. Two files that do not match are just being replaced: then
 * it rejects, except for the first time.
 */
async function readPairThere(
  { options, folder, clock }: TlsFilesOptions,
  isFirst: boolean,
): Promise<CertificatePair | undefined> {
  const [cert, key] = options.serverTlsBootstrap
    ? ['kubelet-server-current.pem', 'kubelet-server-current.pem']
    : ['kubelet.crt', 'kubelet.key'];
  const read = async (name: string): Promise<string> => (await readIfThere(join(folder, name))) ?? '';
  const [certText, keyText] = [await read(cert), await read(key)];
  const pair = toPair(certText, keyText);
  if (pair === undefined && certText !== '' && keyText !== '' && !isFirst) {
    throw new Error(`${cert} and ${key} in ${folder} are not a certificate and its key`);
  }
  const isOver = pair !== undefined && Date.parse(new X509Certificate(pair.cert).validTo) <= clock.now();
  return isOver ? undefined : pair;
}

/**
 * The agent's own, created if there is none that is valid long enough and for all present names of the node.
 */
async function ownPair(
  { folder, hosts: hostsNow, clock, logger }: TlsFilesOptions,
  signer: SelfSigner,
): Promise<CertificatePair> {
  const file = join(folder, 'podloop.pem');
  const nowMs = clock.now();
  const wanted = { hosts: hostsNow(), nowMs };
  const text = (await readIfThere(file)) ?? '';
  const kept = toPair(text, text);
  if (kept !== undefined && !isOutworn(kept.cert, wanted)) return kept;
  // A node that starts with other addresses than its cluster knows would need two certificates each time.
  const former = kept === undefined ? [] : addressesToKeep(kept.cert, nowMs);
  const hosts = [...new Set([...wanted.hosts, ...former])].slice(0, MAX_HOSTS);
  const made = await signer.make({ hosts, nowMs });
  await makeFolder(folder, 0o700);
  // The certificate alone, for clients that should trust it.
  await writeWhole(join(folder, 'podloop.crt'), made.cert);
  await writeWhole(file, `${made.cert}${made.key}`);
  logger.info('Self-signed certificate made', { file, hosts });
  return made;
}

/** Undefined if it is no certificate with its key. */
function toPair(certText: string, keyText: string): CertificatePair | undefined {
  const [key, certificates] = [privateKeyIn(keyText), certificatesIn(certText)];
  const [first] = certificates;
  if (key === undefined || first === undefined) return undefined;
  try {
    const isPair = new X509Certificate(first).checkPrivateKey(createPrivateKey(key));
    return isPair ? { cert: `${certificates.join('\n')}\n`, key: `${key}\n` } : undefined;
  } catch {
    return undefined;
  }
}

function checkPair(pair: CertificatePair, options: ServerOptions): CertificatePair {
  const { tlsCertFile, tlsPrivateKeyFile } = options;
  const [first] = certificatesOf('--tls-cert-file', tlsCertFile, pair.cert);
  const privateKey = attempt('--tls-private-key-file', tlsPrivateKeyFile, 'holds no private key in PEM', () =>
    createPrivateKey(pair.key),
  );
  if (!first!.checkPrivateKey(privateKey)) {
    const why = `is not the key of --tls-cert-file ${tlsCertFile}`;
    throw unusableFile('--tls-private-key-file', tlsPrivateKeyFile, why);
  }
  attempt('--tls-cert-file', tlsCertFile, 'cannot be served', () =>
    createSecureContext(toContext(pair, options)),
  );
  return pair;
}

function toContext({ cert, key }: CertificatePair, options: ServerOptions): SecureContextOptions {
  const { tlsMinVersion, tlsCipherSuites } = options;
  return {
    ...{ cert, key, ciphers: toOpensslCiphers(tlsCipherSuites), honorCipherOrder: true },
    minVersion: tlsMinVersion === 'VersionTLS13' ? 'TLSv1.3' : 'TLSv1.2',
  };
}

function checkAuthorities(text: string, file: string): string {
  if (file === '') return '';
  certificatesOf('--client-ca-file', file, text);
  attempt('--client-ca-file', file, 'cannot be gone by', () => createSecureContext({ ca: text }));
  return text;
}

function toTokens(text: string, file: string): TokenTable {
  return attempt('--token-auth-file', file, undefined, () => TokenTable.parse(text));
}

function certificatesOf(flag: string, file: string, text: string): X509Certificate[] {
  const blocks = certificatesIn(text);
  if (blocks.length === 0) throw unusableFile(flag, file, 'holds no certificate in PEM');
  return blocks.map((block) =>
    attempt(flag, file, 'holds a certificate that cannot be read', () => new X509Certificate(block)),
  );
}

/** Without `why`, the message of the failed work is the problem. */
function attempt<Result>(flag: string, file: string, why: string | undefined, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    throw unusableFile(flag, file, why ?? messageOf(error), error);
  }
}

/**
 * What the port with TLS goes by: its certificate and key, the authority of its clients, and their tokens.
 *
 * In: files that options name, and where no certificate is named a self-signed one of the agent's own in its root folder.
 * Out: what holds now. Files are read again whenever somebody asks for that; what cannot be used then is told, and what was read before
 * holds, for a certificate and its key are hardly ever replaced in one step.
 *
 * @module
 */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import { toOpensslCiphers } from '../server/tls/cipher-suites.js';
import { type CertificatePair } from '../server/tls/make-certificate.js';
import { isOutworn, makeSelfSigned } from '../server/tls/self-signed.js';
import { TokenTable } from '../server/token-table.js';
import { type Clock } from '../util/clock.js';
import { messageOf, PodloopError } from '../util/errors.js';
import { type Logger } from '../util/logger.js';
import { makeFolder } from '../util/make-folder.js';
import { readIfThere, writeWhole } from '../util/whole-file.js';
import { type ServerOptions } from './options/server-options.js';

/** What {@link TlsFiles} need. */
export interface TlsFilesOptions {
  readonly options: ServerOptions;
  /** Names and addresses of this node, for a certificate of the agent's own. */
  readonly hosts: readonly string[];
  /** Where such a certificate is kept. */
  readonly folder: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface Material extends CertificatePair {
  readonly ca: string | undefined;
  readonly tokens: string;
}

/** More than any of them has. */
const LARGEST_FILE_BYTES = 1024 * 1024;
const PEM_CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** See the module. */
export class TlsFiles {
  readonly #options: TlsFilesOptions;
  #material: Material;
  #context: SecureContextOptions;
  #tokens: TokenTable;
  #complaint: string | undefined;

  /** Reads everything. Rejects with OPTION_INVALID naming flag, file and what would be right. */
  static async open(options: TlsFilesOptions): Promise<TlsFiles> {
    const material = await readMaterial(options);
    return new TlsFiles(options, material, toContext(material, options.options), toTokens(material, options));
  }

  private constructor(
    options: TlsFilesOptions,
    material: Material,
    context: SecureContextOptions,
    tokens: TokenTable,
  ) {
    this.#options = options;
    this.#material = material;
    this.#context = context;
    this.#tokens = tokens;
  }

  /** What new connections get. */
  get context(): SecureContextOptions {
    return this.#context;
  }

  /** Who has which token. */
  get tokens(): TokenTable {
    return this.#tokens;
  }

  /** Takes in what has changed; whether new connections get something else. Never rejects. */
  async refresh(): Promise<boolean> {
    const { options, logger } = this.#options;
    try {
      const material = await readMaterial(this.#options);
      const before = this.#material;
      const isSame = (['cert', 'key', 'ca'] as const).every((name) => material[name] === before[name]);
      const context = isSame ? this.#context : toContext(material, options);
      if (material.tokens !== before.tokens) {
        this.#tokens = toTokens(material, this.#options);
        logger.info('Tokens read again', { flag: '--token-auth-file', tokens: this.#tokens.size });
      }
      this.#material = material;
      this.#context = context;
      this.#complaint = undefined;
      if (!isSame) logger.info('Certificates read again', { flag: '--port' });
      return !isSame;
    } catch (error) {
      const complaint = messageOf(error);
      if (complaint !== this.#complaint) {
        logger.error('Files of the port with TLS cannot be used, those read before hold', error);
      }
      this.#complaint = complaint;
      return false;
    }
  }
}

async function readMaterial(given: TlsFilesOptions): Promise<Material> {
  const { tlsCertFile, tlsPrivateKeyFile, clientCaFile, tokenAuthFile } = given.options;
  const pair =
    tlsCertFile === ''
      ? await ownPair(given)
      : {
          cert: await readText('--tls-cert-file', tlsCertFile),
          key: await readText('--tls-private-key-file', tlsPrivateKeyFile),
        };
  const ca = clientCaFile === '' ? undefined : await readText('--client-ca-file', clientCaFile);
  const tokens =
    tokenAuthFile === '' ? '' : await readText('--token-auth-file', tokenAuthFile, assertPrivate);
  return { ...pair, ca, tokens };
}

/** The agent's own, made when there is none that is good for long enough. */
async function ownPair({ folder, hosts, clock, logger }: TlsFilesOptions): Promise<CertificatePair> {
  const file = join(folder, 'podloop.pem');
  const wanted = { hosts, nowMs: clock.now() };
  const kept = splitPair((await readIfThere(file)) ?? '');
  if (kept !== undefined && !isOutworn(kept.cert, wanted)) return kept;
  const made = await makeSelfSigned(wanted);
  await makeFolder(folder, 0o700);
  // The certificate alone, for clients that are to trust it.
  await writeWhole(join(folder, 'podloop.crt'), made.cert);
  await writeWhole(file, `${made.cert}${made.key}`);
  logger.info('Self-signed certificate made', { file, hosts });
  return made;
}

/** Undefined for what is no certificate with its key. */
function splitPair(text: string): CertificatePair | undefined {
  const [cert = '', key = ''] = text.split(/(?=-----BEGIN PRIVATE KEY-----)/);
  try {
    return new X509Certificate(cert).checkPrivateKey(createPrivateKey(key)) ? { cert, key } : undefined;
  } catch {
    return undefined;
  }
}

function toContext({ cert, key, ca }: Material, options: ServerOptions): SecureContextOptions {
  const { tlsCertFile, tlsPrivateKeyFile, clientCaFile, tlsMinVersion, tlsCipherSuites } = options;
  const [first] = certificatesOf('--tls-cert-file', tlsCertFile, cert);
  const privateKey = attempt('--tls-private-key-file', tlsPrivateKeyFile, 'holds no private key in PEM', () =>
    createPrivateKey(key),
  );
  if (!first!.checkPrivateKey(privateKey)) {
    throw unusable(
      '--tls-private-key-file',
      tlsPrivateKeyFile,
      `is not the key of --tls-cert-file ${tlsCertFile}`,
    );
  }
  if (ca !== undefined) certificatesOf('--client-ca-file', clientCaFile, ca);
  const context: SecureContextOptions = {
    ...{ cert, key, ciphers: toOpensslCiphers(tlsCipherSuites), honorCipherOrder: true },
    minVersion: tlsMinVersion === 'VersionTLS13' ? 'TLSv1.3' : 'TLSv1.2',
    ...(ca === undefined ? {} : { ca }),
  };
  attempt('--tls-cert-file', tlsCertFile, 'cannot be served', () => createSecureContext(context));
  return context;
}

function toTokens({ tokens }: Material, { options: { tokenAuthFile } }: TlsFilesOptions): TokenTable {
  try {
    return TokenTable.parse(tokens);
  } catch (error) {
    throw unusable('--token-auth-file', tokenAuthFile, messageOf(error));
  }
}

function certificatesOf(flag: string, file: string, text: string): X509Certificate[] {
  const blocks = text.match(PEM_CERTIFICATE) ?? [];
  if (blocks.length === 0) throw unusable(flag, file, 'holds no certificate in PEM');
  return blocks.map((block) =>
    attempt(flag, file, 'holds a certificate that cannot be read', () => new X509Certificate(block)),
  );
}

function attempt<Result>(flag: string, file: string, why: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    throw unusable(flag, file, why, error);
  }
}

async function readText(
  flag: string,
  file: string,
  check?: (flag: string, file: string, handle: FileHandle) => Promise<void>,
): Promise<string> {
  try {
    // A pipe would hang the reader.
    await using handle = await open(file, constants.O_RDONLY | constants.O_NONBLOCK);
    const facts = await handle.stat();
    const { size } = facts;
    if (!facts.isFile()) throw unusable(flag, file, 'is no file');
    if (size > LARGEST_FILE_BYTES) throw unusable(flag, file, `has more than ${LARGEST_FILE_BYTES} bytes`);
    await check?.(flag, file, handle);
    return await handle.readFile('utf8');
  } catch (error) {
    if (error instanceof PodloopError) throw error;
    throw unusable(flag, file, `cannot be read: ${messageOf(error)}`, error);
  }
}

/** Whoever else can read it could be anybody. */
async function assertPrivate(flag: string, file: string, handle: FileHandle): Promise<void> {
  const { mode } = await handle.stat();
  if ((mode & 0o077) !== 0) throw unusable(flag, file, `can be opened by others; chmod 600 ${file}`);
}

function unusable(flag: string, file: string, why: string, cause?: unknown): PodloopError {
  return new PodloopError('OPTION_INVALID', `${flag}: ${file} ${why}`, { cause });
}

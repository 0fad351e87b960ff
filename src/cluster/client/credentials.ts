/**
 * How a client and its API server know one another: certificates, keys and tokens, which may change at any time.
 *
 * In: a {@link Kubeconfig}. Out: what new connections and what each request needs now. Files are looked at again when they
 * have not been for a few seconds; what cannot be used then is told, and what was read before holds, since a certificate and
 * its key are hardly ever replaced in one step.
 *
 * @module
 */
import { type Publisher } from '#base/channels/publishing-channel.js';
import { readFile } from 'node:fs/promises';
import { createSecureContext, type SecureContext } from 'node:tls';
import { type Clock } from '#base/time/clock.js';
import { messageOf, PodloopError } from '#base/errors/errors.js';
import { type Logger } from '#base/log/logger.js';
import { basicAuthorization } from '#base/wire/basic-authorization.js';
import { ExecPlugin } from './exec-plugin.js';
import { type Kubeconfig, type PemSource } from './kubeconfig.js';

/** A client certificate and its key in PEM that somebody renews. */
export interface ClientPairSource {
  /** As of now, the same object for as long as nothing of it changes; undefined while there is none. */
  readonly current: { readonly cert: string; readonly key: string } | undefined;
}

/** What {@link Credentials} need. */
export interface CredentialsOptions extends Publisher {
  readonly kubeconfig: Kubeconfig;
  /** What is shown instead of the client certificate that the kubeconfig names; nothing is sent while there is none. */
  readonly pair?: ClientPairSource;
  /** Of the agent, for programs that hand out credentials. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly clock: Pick<Clock, 'now' | 'monotonicMs' | 'setTimer'>;
  readonly logger: Logger;
}

/** What a new connection needs; the same object for as long as nothing of it changes. */
export interface TlsIdentity {
  readonly context: SecureContext;
}

/** A token file of a pod is replaced within the lifetime of what it holds; client-go looks each minute. */
const READ_AGAIN_MS = 10_000;

interface Pems {
  readonly ca: string | undefined;
  readonly cert: string | undefined;
  readonly key: string | undefined;
}

/** See the module. */
export class Credentials {
  readonly #options: CredentialsOptions;
  readonly #exec: ExecPlugin | undefined;
  /** As the files say. */
  #files: Pems | undefined;
  /** What the identity is made of. */
  #used: Pems | undefined;
  #identity: TlsIdentity | undefined;
  #token: string | undefined;
  #pair: ClientPairSource['current'];
  #readAtMs = -Infinity;
  #refreshing: Promise<void> | undefined;
  /** The problem that was reported last. */
  #problem = '';

  /** Reads everything once. Rejects with KUBECONFIG_INVALID naming the file and what is wrong. */
  static async open(options: CredentialsOptions): Promise<Credentials> {
    const credentials = new Credentials(options);
    await credentials.#read();
    return credentials;
  }

  private constructor(options: CredentialsOptions) {
    this.#options = options;
    const { kubeconfig, environment, channels, clock } = options;
    const { file, server, serverName, insecure, proxyUrl, user } = kubeconfig;
    if (user.exec === undefined) return;
    const cluster = {
      server,
      ...(serverName !== undefined && { 'tls-server-name': serverName }),
      ...(insecure && { 'insecure-skip-tls-verify': true }),
      ...(proxyUrl !== undefined && { 'proxy-url': proxyUrl }),
    };
    this.#exec = new ExecPlugin({ command: user.exec, file, cluster, environment, channels, clock });
  }

  /** For a new connection. */
  async identity(): Promise<TlsIdentity> {
    await this.#refresh();
    if (this.#options.pair !== undefined && this.#pair === undefined) {
      throw new Error('the node has no client certificate yet');
    }
    return this.#identity!;
  }

  /** For a request: who asks. */
  async headers(): Promise<Record<string, string | readonly string[]>> {
    await this.#refresh();
    const { token, basic, impersonation } = this.#options.kubeconfig.user;
    const bearer = (await this.#exec?.get())?.token ?? this.#token ?? token;
    if (bearer !== undefined) return { ...impersonation, authorization: `Bearer ${bearer}` };
    if (basic === undefined) return { ...impersonation };
    return { ...impersonation, authorization: basicAuthorization(basic.username, basic.password) };
  }

  /** The server said 401: cached credentials of files and programs are read again. Returns whether there are any. */
  refused(): boolean {
    this.#exec?.forget();
    this.#readAtMs = -Infinity;
    const { user } = this.#options.kubeconfig;
    return this.#exec !== undefined || user.tokenFile !== undefined || isFile(user.certificate);
  }

  async #refresh(): Promise<void> {
    const { pair, clock } = this.#options;
    const isOther = pair !== undefined && pair.current !== this.#pair;
    if (isOther || clock.monotonicMs() - this.#readAtMs >= READ_AGAIN_MS) {
      this.#refreshing ??= this.#readAgain().finally(() => (this.#refreshing = undefined));
    }
    await this.#refreshing;
    if (this.#exec === undefined) return;
    const { certificate, key } = await this.#exec.get();
    if (certificate !== undefined) this.#take({ ...this.#files!, cert: certificate, key });
  }

  async #readAgain(): Promise<void> {
    try {
      await this.#read();
      this.#problem = '';
    } catch (error) {
      const problem = messageOf(error);
      if (problem === this.#problem) return;
      this.#problem = problem;
      this.#options.logger.warn('Credentials of the API server’s client: those from before hold', {
        err: problem,
      });
    }
  }

  async #read(): Promise<void> {
    const { kubeconfig, pair, clock } = this.#options;
    const { user, authority } = kubeconfig;
    this.#readAtMs = clock.monotonicMs();
    const own = pair?.current;
    // One after the other: of two files that cannot be used, or of one that is named twice, it is always the same that is told of.
    const ca = await readPem(kubeconfig.file, 'certificate-authority', authority);
    const cert = pair ? own?.cert : await readPem(kubeconfig.file, 'client-certificate', user.certificate);
    const key = pair ? own?.key : await readPem(kubeconfig.file, 'client-key', user.key);
    this.#pair = own;
    if (user.tokenFile !== undefined) this.#token = await readToken(kubeconfig.file, user.tokenFile);
    this.#files = { ca, cert, key };
    // A program may have a certificate of its own instead.
    if (this.#exec === undefined || this.#used === undefined) this.#take(this.#files);
  }

  /** Makes another identity if anything is another. */
  #take(pems: Pems): void {
    const before = this.#used;
    if (before?.ca === pems.ca && before?.cert === pems.cert && before?.key === pems.key) {
      if (this.#identity !== undefined) return;
    }
    try {
      this.#identity = { context: createSecureContext({ ca: pems.ca, cert: pems.cert, key: pems.key }) };
    } catch (error) {
      const { file } = this.#options.kubeconfig;
      const what = 'its certificate authority, client certificate and client key cannot be used together';
      throw new PodloopError('KUBECONFIG_INVALID', `${file}: ${what}: ${messageOf(error)}`, { cause: error });
    }
    this.#used = pems;
  }
}

function isFile(source: PemSource | undefined): boolean {
  return source !== undefined && 'file' in source;
}

async function readPem(
  kubeconfig: string,
  field: string,
  source: PemSource | undefined,
): Promise<string | undefined> {
  if (source === undefined || 'text' in source) return source?.text;
  const text = await readNamed(kubeconfig, field, source.file);
  if (!text.includes('-----BEGIN ')) throw unusable(kubeconfig, field, `${source.file} holds no PEM`);
  return text;
}

async function readToken(kubeconfig: string, file: string): Promise<string> {
  const token = (await readNamed(kubeconfig, 'tokenFile', file)).trim();
  if (token === '' || /\s/.test(token)) throw unusable(kubeconfig, 'tokenFile', `${file} holds no token`);
  return token;
}

async function readNamed(kubeconfig: string, field: string, file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw unusable(kubeconfig, field, `${file} cannot be read: ${messageOf(error)}`, error);
  }
}

function unusable(kubeconfig: string, field: string, why: string, cause?: unknown): PodloopError {
  return new PodloopError('KUBECONFIG_INVALID', `${kubeconfig}: ${field}: ${why}`, { cause });
}

/**
 * Asks credential provider plugins for logins, as a kubelet does.
 *
 * In: the image that a pod needs. Out: logins of every plugin that is for its registry. It assumes that a plugin is slow and
 * fails: each answer is cached as long as it says, one process runs for one question, all within a limit, and a plugin that
 * fails gives no login, so that an image that needs none is pulled all the same.
 *
 * Source: https://www.kubernetes.dev/resources/keps/2133/
 *
 * @module
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { publishTo, type Publisher } from '#base/channels/publishing-channel.js';
import { credentialPluginEnded } from '#base/channels/image-channels.js';
import { Slots } from '#base/async/slots.js';
import { SingleFlight } from '#base/async/single-flight.js';
import { messageOf } from '#base/errors/errors.js';
import { type Logger, SILENT_LOGGER } from '#base/log/logger.js';
import { killGroup } from '#base/proc/kill-group.js';
import { isRecord } from '#base/text/is-record.js';
import { parseJsonObject } from '#base/text/parse-json-object.js';
import { type Clock } from '#base/time/clock.js';
import { parseGoDuration } from '#base/time/go-duration.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { type RegistryLogin } from '../docker-config.js';
import { findLogins, matchesPlace, type PlacedLogin } from '../find-logins.js';
import { repositoryOf } from '#kube/container/image-name.js';
import { type ObjectId, type PullCredential } from '../pull-logins.js';
import { type CredentialProvider, type TokenAttributes } from './provider-config.js';

/** Options of {@link CredentialProviders}. */
export interface CredentialProvidersOptions extends Publisher {
  readonly providers: readonly CredentialProvider[];
  /** A token of the pod's service account; undefined without a cluster. */
  readonly getToken?: ((pod: NodePod, audience: string) => Promise<string>) | undefined;
  /** The pod's service account; undefined without a cluster. */
  readonly getServiceAccount?: ((pod: NodePod) => Promise<ServiceAccountFacts>) | undefined;
  /** The environment that plugins get besides their own. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly logger?: Logger;
}

/** What is asked of a service account. */
interface ServiceAccountFacts {
  readonly uid: string;
  readonly annotations: Readonly<Record<string, string>>;
}

/** On whose behalf a plugin is asked. */
interface TokenOwner {
  readonly token: string;
  /** What the plugin gets of the account's annotations. */
  readonly annotations: Readonly<Record<string, string>>;
  readonly account: ObjectId;
}

type Logins = readonly PlacedLogin[];

interface CachedAnswer {
  readonly logins: Logins;
  readonly endsAtMs: number;
}

interface Answer {
  readonly cacheKeyType: 'Image' | 'Registry' | 'Global';
  /** Undefined: the provider's default. */
  readonly cacheMs: number | undefined;
  readonly logins: Logins;
}

/** As a kubelet. */
const PLUGIN_TIMEOUT_MS = 60_000;
const MAX_ANSWER_BYTES = 1024 * 1024;
const MAX_PLUGINS_AT_ONCE = 10;
/** More than any node has registries, and images of its own in them. */
const MAX_CACHED = 1_000;

/** See the module. */
export class CredentialProviders {
  readonly #options: CredentialProvidersOptions;
  readonly #cache = new Map<string, CachedAnswer>();
  readonly #flights = new SingleFlight<Logins>();
  readonly #slots = new Slots({ limit: MAX_PLUGINS_AT_ONCE });

  constructor(options: CredentialProvidersOptions) {
    this.#options = options;
  }

  /** To be tried in this order. Rejects only with the signal's reason. */
  async find(image: string, pod: NodePod, signal: AbortSignal): Promise<readonly PullCredential[]> {
    const repository = repositoryOf(image) ?? image;
    const { providers, logger = SILENT_LOGGER } = this.#options;
    const found = await Promise.all(
      providers
        .filter(({ matchImages }) => matchImages.some((pattern) => matchesPlace(pattern, repository)))
        .map(async (provider): Promise<readonly PullCredential[]> => {
          try {
            return await this.#ask(provider, repository, pod, signal);
          } catch (error) {
            signal.throwIfAborted();
            logger.error('Failed getting credentials from a credential provider plugin', error, {
              provider: provider.name,
              image: repository,
            });
            return [];
          }
        }),
    );
    return found.flat();
  }

  async #ask(
    provider: CredentialProvider,
    repository: string,
    pod: NodePod,
    signal: AbortSignal,
  ): Promise<readonly PullCredential[]> {
    const { tokenAttributes } = provider;
    const asking = tokenAttributes && (await this.#findOwner(provider, tokenAttributes, pod));
    if (asking === 'not for it') return [];
    const owner = tokenAttributes && asking ? keyOfOwner(tokenAttributes, asking) : '';
    const cached = this.#findCached(provider, repository, owner);
    const logins =
      cached ??
      (await this.#flights.run(
        keyOf(provider, `asks ${repository}`, owner),
        async ({ signal: own }) =>
          this.#slots.run(
            undefined,
            () => this.#run(provider, { repository, owner, asking, signal: own }),
            own,
          ),
        signal,
      ));
    const of = { secret: undefined, account: asking?.account, isForAnyone: asking === undefined };
    return findLogins(repository, logins).map((login) => ({ login, ...of }));
  }

  /** Undefined for a pod without an account, for which the plugin is asked all the same. */
  async #findOwner(
    { name }: CredentialProvider,
    attributes: TokenAttributes,
    pod: NodePod,
  ): Promise<TokenOwner | 'not for it' | undefined> {
    const { serviceAccountName = '' } = pod.spec;
    const { getToken, getServiceAccount, logger = SILENT_LOGGER } = this.#options;
    if (serviceAccountName === '' || getToken === undefined || getServiceAccount === undefined)
      return attributes.requireServiceAccount ? 'not for it' : undefined;
    const { requiredServiceAccountAnnotationKeys: needed = [] } = attributes;
    const { optionalServiceAccountAnnotationKeys: more = [] } = attributes;
    const { uid, annotations: all } = await getServiceAccount(pod);
    const missing = needed.find((key) => !Object.hasOwn(all, key));
    if (missing !== undefined) {
      // That is how an account says that it does not take part.
      const facts = { provider: name, pod: pod.metadata, serviceAccountName, annotation: missing };
      logger.info('A service account lacks an annotation that a plugin wants', facts, 5);
      return 'not for it';
    }
    const annotations = Object.fromEntries(
      [...needed, ...more].filter((key) => Object.hasOwn(all, key)).map((key) => [key, all[key]!]),
    );
    const token = await getToken(pod, attributes.serviceAccountTokenAudience);
    const { namespace } = pod.metadata;
    return { token, annotations, account: { uid, namespace, name: serviceAccountName } };
  }

  #findCached(provider: CredentialProvider, repository: string, owner: string): Logins | undefined {
    const nowMs = this.#options.clock.monotonicMs();
    for (const scope of [repository, registryOf(repository), '']) {
      const key = keyOf(provider, scope, owner);
      const cached = this.#cache.get(key);
      if (cached === undefined) continue;
      if (nowMs < cached.endsAtMs) return cached.logins;
      this.#cache.delete(key);
    }
    return undefined;
  }

  async #run(provider: CredentialProvider, asked: Asked): Promise<Logins> {
    const { clock } = this.#options;
    const startedMs = clock.monotonicMs();
    let isFailed = true;
    try {
      const answer = readAnswer(await this.#exec(provider, asked), provider);
      assertNoEcho(answer, provider, asked);
      isFailed = false;
      const { repository, owner } = asked;
      const { cacheKeyType, cacheMs = provider.defaultCacheMs, logins } = answer;
      const scope = { Image: repository, Registry: registryOf(repository), Global: '' }[cacheKeyType];
      if (cacheMs > 0) this.#keep(keyOf(provider, scope, owner), logins, cacheMs);
      return logins;
    } finally {
      const durationMs = clock.monotonicMs() - startedMs;
      publishTo(this.#options.channels, credentialPluginEnded, {
        plugin: provider.name,
        durationMs,
        isFailed,
      });
    }
  }

  /** The oldest answer gives way. */
  #keep(key: string, logins: Logins, cacheMs: number): void {
    this.#cache.delete(key);
    this.#cache.set(key, { logins, endsAtMs: this.#options.clock.monotonicMs() + cacheMs });
    const [oldest] = this.#cache.keys();
    if (this.#cache.size > MAX_CACHED && oldest !== undefined) this.#cache.delete(oldest);
  }

  /** What the plugin prints. No error repeats it, as it may be a secret; of standard error nothing is shown for the same reason. */
  #exec(
    { file, args, env, apiVersion }: CredentialProvider,
    { repository, asking, signal }: Asked,
  ): Promise<string> {
    const { clock, environment } = this.#options;
    return new Promise((resolve, reject) => {
      const own = Object.fromEntries(env.map(({ name, value }) => [name, value]));
      const child = spawn(file, args, {
        ...{ env: { ...environment, ...own }, stdio: ['pipe', 'pipe', 'ignore'], detached: true },
      });
      const chunks: Buffer[] = [];
      let bytes = 0;
      let fault: string | undefined;
      const end = (why: string): void => {
        fault ??= why;
        killGroup(child);
        child.stdout.destroy();
      };
      const limit = clock.setTimer(PLUGIN_TIMEOUT_MS, () => end('it does not answer within 1m0s'), {
        unref: true,
      });
      const leave = (): void => end('nobody waits for it any more');
      signal.addEventListener('abort', leave, { once: true });
      const settle = (): void => {
        limit.cancel();
        signal.removeEventListener('abort', leave);
      };
      child.once('error', (error) => {
        settle();
        reject(new Error(`${file} cannot be started: ${messageOf(error)}`));
      });
      child.stdout.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > MAX_ANSWER_BYTES) end(`it prints more than ${MAX_ANSWER_BYTES} bytes`);
        else chunks.push(chunk);
      });
      child.stdout.on('error', () => undefined);
      child.once('exit', () => {
        // What it has left behind has no more to say.
        if (fault !== undefined) child.stdout.destroy();
      });
      child.once('close', (code, killed) => {
        settle();
        killGroup(child);
        if (fault === undefined && code !== 0) fault = `it ended with ${killed ?? `exit code ${code}`}`;
        if (fault === undefined) resolve(Buffer.concat(chunks).toString('utf8'));
        else reject(new Error(`${file}: ${fault}`));
      });
      child.stdin.on('error', () => undefined);
      const request = { kind: 'CredentialProviderRequest', apiVersion, image: repository };
      const token = asking?.token;
      const annotations = asking?.annotations ?? {};
      child.stdin.end(
        JSON.stringify({
          ...request,
          ...(token !== undefined && { serviceAccountToken: token }),
          ...(Object.keys(annotations).length > 0 && { serviceAccountAnnotations: annotations }),
        }),
      );
    });
  }
}

interface Asked {
  readonly repository: string;
  /** For whom the answer holds; empty for every pod. */
  readonly owner: string;
  readonly asking: TokenOwner | undefined;
  /** Aborts when nobody waits any more. */
  readonly signal: AbortSignal;
}

function keyOfOwner({ cacheType }: TokenAttributes, { token, annotations, account }: TokenOwner): string {
  const { uid, namespace, name } = account;
  const hash = cacheType === 'Token' ? createHash('sha256').update(token).digest('hex') : '';
  return JSON.stringify([namespace, name, uid, annotations, hash]);
}

function keyOf({ name }: CredentialProvider, scope: string, owner: string): string {
  return JSON.stringify([name, scope, owner]);
}

function registryOf(repository: string): string {
  return repository.split('/')[0]!;
}

/**
 * Throws where the plugin gives its token back as the password, as only `cacheType: Token` allows: the answer would be
 * cached for pods whose own token is another.
 */
function assertNoEcho(
  { logins }: Answer,
  { file, tokenAttributes }: CredentialProvider,
  { asking }: Asked,
): void {
  const isEcho = logins.some(([, { password }]) => password === asking?.token);
  if (isEcho && tokenAttributes?.cacheType !== 'Token')
    throw new Error(
      `${file}: its answer is wrong: the password is the token that it was given, for which cacheType must be Token`,
    );
}

/** Throws for what is no answer, without repeating it. */
function readAnswer(text: string, { file, apiVersion }: CredentialProvider): Answer {
  const wrong = (what: string): Error => new Error(`${file}: its answer is wrong: ${what}`);
  const answer = parseJsonObject(text);
  if (answer === undefined) throw wrong('it is not a JSON object');
  const { kind, apiVersion: version, cacheKeyType, cacheDuration, auth } = answer;
  if (kind !== 'CredentialProviderResponse') throw wrong('kind must be CredentialProviderResponse');
  if (version !== apiVersion) throw wrong(`apiVersion must be ${apiVersion}, as in its configuration`);
  if (cacheKeyType !== 'Image' && cacheKeyType !== 'Registry' && cacheKeyType !== 'Global')
    throw wrong('cacheKeyType must be Image, Registry or Global');
  let cacheMs: number | undefined;
  if (cacheDuration !== undefined && cacheDuration !== null) {
    try {
      cacheMs = parseGoDuration(cacheDuration as string, 'cacheDuration');
    } catch {
      throw wrong('cacheDuration must be a duration such as 12h0m0s');
    }
    if (cacheMs < 0) throw wrong('cacheDuration must not be negative');
  }
  if (auth !== undefined && auth !== null && !isRecord(auth)) throw wrong('auth must be an object');
  const logins = Object.entries(auth ?? {}).map(([place, login]): readonly [string, RegistryLogin] => {
    const { username = '', password = '' } = isRecord(login) ? login : { username: 0 };
    if (typeof username !== 'string' || typeof password !== 'string')
      throw wrong('each entry of auth must have a username and a password');
    return [place, { username, password }];
  });
  return { cacheKeyType, cacheMs, logins };
}

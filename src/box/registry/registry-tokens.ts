import { basicAuthorization } from '#base/wire/basic-authorization.js';
import { parseJsonObject } from '#base/text/parse-json-object.js';
import { type Clock } from '#base/time/clock.js';
import { type Login } from './docker-logins.js';
import { type RegistryHttp, type RegistryRequest } from './registry-http.js';
import { type HostTls } from './registry-hosts.js';
import { toStatusError } from './registry-status.js';

/** What a server wants to see, from its header `WWW-Authenticate`. */
export interface Challenge {
  readonly scheme: 'basic' | 'bearer';
  readonly parameters: ReadonlyMap<string, string>;
}

/** Whom a token is for. */
export interface TokenWish {
  readonly challenge: Challenge;
  /** `https://registry.lab:5000`: who asks for it. */
  readonly origin: string;
  readonly repository: string;
  readonly login: Login | undefined;
  readonly tls: HostTls;
  readonly signal: AbortSignal;
}

/** A registry refuses, and says why. */
export class LoginError extends Error {
  override readonly name = 'LoginError';
}

const MAX_TOKEN_BYTES = 1024 * 1024;
const CHALLENGE = /(?:^|,)\s*(basic|bearer)(?:\s+|$)/gi;
const PARAMETER = /([\w-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s",]+))/g;

/** The challenges of a header, those for tokens first. */
export function parseChallenges(header: string): readonly Challenge[] {
  const begins = [...header.matchAll(CHALLENGE)];
  const challenges = begins.map((begin, at): Challenge => {
    const rest = header.slice(begin.index + begin[0].length, begins[at + 1]?.index);
    const parameters = [...rest.matchAll(PARAMETER)].map(([, name = '', quoted, bare = '']) => {
      const value = quoted?.replaceAll(/\\(.)/g, '$1') ?? bare;
      return [name.toLowerCase(), value] as const;
    });
    return { scheme: begin[1]!.toLowerCase() as Challenge['scheme'], parameters: new Map(parameters) };
  });
  return challenges.sort((one, other) => other.scheme.localeCompare(one.scheme));
}

/** Gets what goes into `Authorization`, as a challenge says. */
export class RegistryTokens {
  readonly #http: Pick<RegistryHttp, 'send'>;
  readonly #clock: Pick<Clock, 'now'>;

  constructor({
    http,
    clock,
  }: {
    readonly http: Pick<RegistryHttp, 'send'>;
    readonly clock: Pick<Clock, 'now'>;
  }) {
    this.#http = http;
    this.#clock = clock;
  }

  /**
   * The value of `Authorization`; undefined where there is no login for a challenge that wants one. Throws
   * {@link LoginError} when no token is given, an error of its status when that is a passing fault, and what {@link RegistryHttp.send} throws.
   */
  async authorize(wish: TokenWish): Promise<string | undefined> {
    const { challenge, login } = wish;
    if (login?.kind === 'registry') return `Bearer ${login.token}`;
    if (challenge.scheme === 'basic')
      return login?.kind === 'password' ? basicAuthorization(login.username, login.password) : undefined;
    return `Bearer ${await this.#fetchToken(wish)}`;
  }

  async #fetchToken(wish: TokenWish): Promise<string> {
    const { login, signal } = wish;
    const request = this.#toRequest(wish);
    const answer = await this.#http.send({ ...request, signal });
    const server = new URL(request.url).host;
    if (answer.status !== 200) {
      const error = await toStatusError(answer, this.#clock);
      if (error.isPassing) throw error;
      const who = login === undefined ? 'without a login' : 'with the login that there is';
      throw new LoginError(`${server} gives no token ${who} (${answer.statusText})`);
    }
    const text = await answer.text(MAX_TOKEN_BYTES);
    const { token, access_token: accessToken } = parseJsonObject(text) ?? {};
    const given = typeof token === 'string' && token !== '' ? token : accessToken;
    // It becomes part of a header.
    if (typeof given !== 'string' || !/^[\x21-\x7e]+$/.test(given))
      throw new LoginError(`${server} answers without a token`);
    return given;
  }

  /** Source: https://distribution.github.io/distribution/spec/auth/token/ and …/auth/oauth/ */
  #toRequest({ challenge, origin, repository, login, tls }: TokenWish): Omit<RegistryRequest, 'signal'> {
    const { parameters } = challenge;
    const realm = parameters.get('realm') ?? '';
    const url = URL.canParse(realm) ? new URL(realm) : undefined;
    if (url === undefined || !/^https?:$/.test(url.protocol))
      throw new LoginError(`${new URL(origin).host} names no address to get tokens from`);
    if (origin.startsWith('https:') && url.protocol === 'http:')
      throw new LoginError(`${new URL(origin).host} wants logins to be sent to ${url.host} without TLS`);
    const service = parameters.get('service') ?? '';
    const scope = parameters.get('scope') ?? `repository:${repository}:pull`;
    url.username = url.password = '';
    const isSame = url.origin === origin;
    const skipVerify = tls.skipVerify && url.hostname === new URL(origin).hostname;
    const common = {
      headers: { accept: 'application/json' },
      tls: isSame ? tls : { ...tls, clients: [], skipVerify },
    };
    if (login?.kind === 'identity') {
      const body = new URLSearchParams({ grant_type: 'refresh_token', client_id: 'podloop', service, scope });
      body.set('refresh_token', login.token);
      return { ...common, url: url.href, method: 'POST', body: body.toString() };
    }
    if (service !== '') url.searchParams.set('service', service);
    // The specification has a parameter for each scope.
    for (const each of scope.split(' ')) url.searchParams.append('scope', each);
    const secretHeaders: Record<string, string> = {};
    if (login?.kind === 'password')
      secretHeaders['authorization'] = basicAuthorization(login.username, login.password);
    return { ...common, url: url.href, method: 'GET', secretHeaders };
  }
}

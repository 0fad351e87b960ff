import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { type IncomingHttpHeaders } from 'node:http';
import { type Clock } from '#base/time/clock.js';

/** What a browser gets for a link: a cookie that no script can read, and a token that no other site has. */
export interface PageSession {
  readonly cookie: string;
  readonly token: string;
}

/** What became of a link: it opened a session, or it did not because it is unknown, used before or too old. */
export type LinkOutcome = PageSession | LinkRefusal;

/** Why a link opens nothing. */
export type LinkRefusal = 'used' | 'expired' | 'unknown';

/** What {@link PageAccess} needs. */
export interface PageAccessOptions {
  readonly clock: Pick<Clock, 'monotonicMs'>;
  /** Of the cookie: cookies do not distinguish ports, so that two pages of one machine need two names. */
  readonly cookieName: string;
}

interface Link {
  readonly digest: Buffer;
  readonly madeAtMs: number;
  isUsed: boolean;
}

interface Session {
  readonly cookie: Buffer;
  readonly token: Buffer;
  usedAtMs: number;
}

/** How long a link can be opened. */
export const LINK_LIFETIME_MS = 15 * 60_000;
/** How long a session lasts without a request. */
const IDLE_MS = 12 * 3_600_000;
const MAX_LINKS = 16;
const MAX_SESSIONS = 16;
const SECRET_BYTES = 32;
/** The name of the header with the token; WebSockets have it as a subprotocol. */
const TOKEN_HEADER = 'podloop-token';
/** The subprotocol of the streams, and the prefix of the one that carries the token. */
export const STREAM_PROTOCOL = 'podloop.v1';
const TOKEN_PROTOCOL = 'podloop.token.';

/**
 * Who may use the page: a link opens one session, once. A session needs its cookie and its token in every request.
 *
 * The cookie alone would not do: a browser sends it to every port of this machine, where another user may listen. The
 * token alone would not do either: scripts of the page can read it.
 */
export class PageAccess {
  readonly #options: PageAccessOptions;
  #links: Link[] = [];
  #sessions: Session[] = [];

  constructor(options: PageAccessOptions) {
    this.#options = options;
  }

  /** Makes a key that opens a session once. The oldest link goes when there are too many. */
  makeKey(): string {
    const key = makeSecret();
    const link = { digest: digestOf(key), madeAtMs: this.#now(), isUsed: false };
    this.#links = [...this.#links, link].slice(-MAX_LINKS);
    return key;
  }

  /** Opens a session with the key of a link. */
  open(key: string): LinkOutcome {
    const digest = digestOf(key);
    const link = this.#links.find((each) => timingSafeEqual(each.digest, digest));
    if (link === undefined) return 'unknown';
    if (link.isUsed) return 'used';
    if (this.#now() - link.madeAtMs > LINK_LIFETIME_MS) return 'expired';
    link.isUsed = true;
    const [cookie, token] = [makeSecret(), makeSecret()];
    const session = { cookie: digestOf(cookie), token: digestOf(token), usedAtMs: this.#now() };
    this.#sessions = [...this.#sessions, session].slice(-MAX_SESSIONS);
    const attributes = 'Path=/; HttpOnly; SameSite=Strict';
    return { cookie: `${this.#options.cookieName}=${cookie}; ${attributes}`, token };
  }

  /** Whether a request belongs to a session. */
  admits(headers: IncomingHttpHeaders): boolean {
    const cookie = readCookie(headers.cookie, this.#options.cookieName);
    const token = readToken(headers);
    if (cookie === undefined || token === undefined) return false;
    const now = this.#now();
    this.#sessions = this.#sessions.filter(({ usedAtMs }) => now - usedAtMs <= IDLE_MS);
    const [cookieDigest, tokenDigest] = [digestOf(cookie), digestOf(token)];
    const session = this.#sessions.find((each) => timingSafeEqual(each.cookie, cookieDigest));
    if (session === undefined || !timingSafeEqual(session.token, tokenDigest)) return false;
    session.usedAtMs = now;
    return true;
  }

  #now(): number {
    return this.#options.clock.monotonicMs();
  }
}

/** The token of a request: of its header, or of the protocols of a WebSocket, which can have no header. */
function readToken(headers: IncomingHttpHeaders): string | undefined {
  const header = headers[TOKEN_HEADER];
  if (typeof header === 'string') return header;
  const protocols = (headers['sec-websocket-protocol'] ?? '').split(',').map((each) => each.trim());
  return protocols.find((each) => each.startsWith(TOKEN_PROTOCOL))?.slice(TOKEN_PROTOCOL.length);
}

function readCookie(header: string | undefined, name: string): string | undefined {
  const pairs = (header ?? '').split(';').map((each) => each.trim());
  return pairs.find((each) => each.startsWith(`${name}=`))?.slice(name.length + 1);
}

function makeSecret(): string {
  return randomBytes(SECRET_BYTES).toString('base64url');
}

function digestOf(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}

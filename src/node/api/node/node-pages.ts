/**
 * The pages that say how the node is: each is a text that somebody else makes.
 *
 * In: a function for each page. Out: handlers. A page is made once for all who ask for it at the same time, and encoded
 * once, so that a hundred scrapers cost what one does. It assumes that making a page may hang: who asks waits for a
 * bounded time, and a second one is not begun meanwhile.
 *
 * @module
 */
import { type Clock } from '#base/time/clock.js';
import { SharedLook } from '#base/async/shared-look.js';
import { ApiError } from '../http/api-error.js';
import { type ApiHandler } from '../http/api-request.js';

/** Prometheus' text format. */
const METRICS = 'text/plain; version=0.0.4; charset=utf-8';
const JSON_TEXT = 'application/json';

/** Every page, what it is, and whether anybody on the machine may see it. */
const NODE_PAGES = {
  '/metrics': { contentType: METRICS, isOpen: true },
  '/metrics/cadvisor': { contentType: METRICS, isOpen: true },
  '/metrics/probes': { contentType: METRICS, isOpen: true },
  '/metrics/resource': { contentType: METRICS, isOpen: true },
  '/stats/summary': { contentType: JSON_TEXT, isOpen: false },
  '/debug/pleg': { contentType: JSON_TEXT, isOpen: false },
  '/configz': { contentType: JSON_TEXT, isOpen: false },
} as const;

/** Where a page is. */
export type NodePagePath = keyof typeof NODE_PAGES;

/** Whether anybody on the machine may see a page. */
export function isOpenPage(path: NodePagePath): boolean {
  return NODE_PAGES[path].isOpen;
}

/** A page as text, or encoded in pieces, which a large one is made of in slices. */
export type PageContent = string | readonly Uint8Array[];

/** Makes a page. The signal aborts when its time is up. */
export type MakePage = (signal: AbortSignal) => PageContent | Promise<PageContent>;

/** How each page is made; one that is not here answers 404. */
export type NodePages = { readonly [Path in NodePagePath]?: MakePage };

/** Longer than any scraper waits. */
const PAGE_DEADLINE_MS = 30_000;

/** A handler for each page that there is, for any number of servers. */
export function nodePageHandlers(
  pages: NodePages,
  clock: Pick<Clock, 'setTimer'>,
): ReadonlyMap<NodePagePath, ApiHandler> {
  const entries = Object.entries(pages) as [NodePagePath, MakePage | undefined][];
  return new Map(
    entries.flatMap(([path, make]) => (make === undefined ? [] : [[path, pageHandler(path, make, clock)]])),
  );
}

function pageHandler(path: NodePagePath, make: MakePage, clock: Pick<Clock, 'setTimer'>): ApiHandler {
  const shared = new SharedLook<Uint8Array>({
    ...{ clock, deadlineMs: PAGE_DEADLINE_MS },
    late: () => new ApiError('Timeout', `${path} could not be made within ${PAGE_DEADLINE_MS / 1_000}s`),
    look: async (signal) => encode(await make(signal)),
  });
  return async ({ signal }) => ({
    ...{ kind: 'bytes', contentType: NODE_PAGES[path].contentType },
    body: await shared.get(signal),
  });
}

function encode(page: PageContent): Uint8Array {
  return typeof page === 'string' ? Buffer.from(page) : Buffer.concat(page);
}

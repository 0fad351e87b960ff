/**
 * The pages about the node; other parts render their text.
 *
 * In: a function for each page. Out: handlers. Simultaneous requests share one rendering and one encoding of
 * a page, so that a hundred scrapers cost what one does. It assumes that a rendering may hang: requests wait
 * for a limited time, and no second one starts meanwhile.
 *
 * @module
 */
import { type Clock } from '#base/time/clock.js';
import { Cached } from '#base/async/cached.js';
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

/** The path of a page. */
export type NodePagePath = keyof typeof NODE_PAGES;

/** Whether anybody on the machine may see a page. */
export function isOpenPage(path: NodePagePath): boolean {
  return NODE_PAGES[path].isOpen;
}

/** A page as text, or encoded in pieces, into which a large one is sliced. */
export type PageContent = string | readonly Uint8Array[];

/** Renders a page. The signal aborts when its time is up. */
export type MakePage = (signal: AbortSignal) => PageContent | Promise<PageContent>;

/** The renderer of each page; a missing one gives 404. */
export type NodePages = { readonly [Path in NodePagePath]?: MakePage };

/** Longer than any scraper waits. */
export const PAGE_DEADLINE_MS = 30_000;

/** A handler for each existing page, for any number of servers. */
export function nodePageHandlers(
  pages: NodePages,
  clock: Pick<Clock, 'setTimer' | 'monotonicMs'>,
): ReadonlyMap<NodePagePath, ApiHandler> {
  const entries = Object.entries(pages) as [NodePagePath, MakePage | undefined][];
  return new Map(
    entries.flatMap(([path, make]) => (make === undefined ? [] : [[path, pageHandler(path, make, clock)]])),
  );
}

function pageHandler(
  path: NodePagePath,
  make: MakePage,
  clock: Pick<Clock, 'setTimer' | 'monotonicMs'>,
): ApiHandler {
  const shared = new Cached<Uint8Array>({
    ...{ clock, deadlineMs: PAGE_DEADLINE_MS },
    late: () => new ApiError('Timeout', `${path} could not be made within ${PAGE_DEADLINE_MS / 1_000}s`),
    read: async (signal) => encode(await make(signal)),
  });
  return async ({ signal }) => ({
    ...{ kind: 'bytes', contentType: NODE_PAGES[path].contentType },
    body: await shared.get(signal),
  });
}

function encode(page: PageContent): Uint8Array {
  return typeof page === 'string' ? Buffer.from(page) : Buffer.concat(page);
}

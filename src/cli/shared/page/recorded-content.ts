import { jsonOf, type PageAnswer } from './answer.js';
import { type PageContent, type PageFacts, type PageRequest } from './page-content.js';
import { type RecordedTimeline } from '#kube/node/recorded-timeline.js';

const RECORDS = '/records';

/** What the page reads of a recording: all of it at once. */
export class RecordedContent implements PageContent {
  readonly facts: PageFacts = { canWrite: false, isRecorded: true };
  readonly #page: RecordedTimeline;

  constructor(page: RecordedTimeline) {
    this.#page = page;
  }

  answer({ method, url }: PageRequest): Promise<PageAnswer | undefined> {
    const isAsked = method === 'GET' && url.pathname === RECORDS;
    return Promise.resolve(isAsked ? jsonOf(200, this.#page) : undefined);
  }
}

import { jsonOf, type PageAnswer } from './answer.js';
import { type PageContent, type PageFacts, type PageRequest } from './page-content.js';
import { type RecordedPage } from './recorded-page.js';

const RECORDS = '/records';

/** What the page reads of a recording: all of it at once. */
export class RecordedContent implements PageContent {
  readonly facts: PageFacts = { canWrite: false, isRecorded: true };
  readonly #page: RecordedPage;

  constructor(page: RecordedPage) {
    this.#page = page;
  }

  answer({ method, url }: PageRequest): Promise<PageAnswer | undefined> {
    const isAsked = method === 'GET' && url.pathname === RECORDS;
    return Promise.resolve(isAsked ? jsonOf(200, this.#page) : undefined);
  }
}

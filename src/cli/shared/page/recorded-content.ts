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

  async answer({ method, url }: PageRequest): Promise<PageAnswer | undefined> {
    return method === 'GET' && url.pathname === RECORDS ? jsonOf(200, this.#page) : undefined;
  }
}

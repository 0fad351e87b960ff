import { isRecord } from '#base/text/is-record.js';
import { ApiError, type KubeClient } from '../client/kube-client.js';
import { type KubeList, type KubeObject } from './kube-list.js';

/** Which collection to list, and how. */
export interface ListRequest {
  /** As in `/api/v1/pods`. */
  readonly path: string;
  /** Selectors. */
  readonly query: Readonly<Record<string, string>>;
  /**
   * `0`: whatever the server has at hand; another: nothing older than this; empty: the newest there is, which the server
   * has to ask etcd for.
   */
  readonly resourceVersion: string;
  /** Objects per page (default: 500). The server may send more when it answers from its memory. */
  readonly pageSize?: number;
  /** It goes before other requests. */
  readonly isUrgent?: boolean;
  readonly signal: AbortSignal;
}

/** A page that may be believed. */
type ListPage<T> = KubeList<T> & {
  readonly metadata: NonNullable<KubeList<T>['metadata']> & { readonly resourceVersion: string };
};

/** All of a collection, as of one resource version. */
export interface ListedCollection<T> {
  readonly items: readonly T[];
  /** From where to watch. */
  readonly resourceVersion: string;
  readonly pages: number;
}

const PAGE_SIZE = 500;

/**
 * Lists a collection page by page; all pages are of one resource version.
 *
 * @remarks Rejects as the client does, and with a TypeError when a page is no list: what is not in a list is taken for
 * gone. When the server has forgotten where the pages were (410), all is asked for once more, in one piece.
 * @see https://kubernetes.io/docs/reference/using-api/api-concepts/#retrieving-large-results-sets-in-chunks
 */
export async function listCollection<T extends KubeObject>(
  client: Pick<KubeClient, 'request'>,
  { path, query, resourceVersion, pageSize = PAGE_SIZE, isUrgent = false, signal }: ListRequest,
): Promise<ListedCollection<T>> {
  const get = async (more: Readonly<Record<string, string>>): Promise<ListPage<T>> => {
    const answer = await client.request<unknown>({
      ...{ method: 'GET', path, query: { ...query, ...more }, isUrgent, signal },
    });
    if (!isPage<T>(answer)) throw new TypeError(`${path}: the answer is no list`);
    return answer;
  };
  // With a limit the server would take any other version for the very one that is wanted, of which it may have no history.
  const isLeast = resourceVersion !== '' && resourceVersion !== '0';
  const since: Record<string, string> = {
    ...(resourceVersion === '' ? {} : { resourceVersion }),
    ...(isLeast ? { resourceVersionMatch: 'NotOlderThan' } : {}),
  };
  const items: T[] = [];
  let pages = 0;
  let place = '';
  for (;;) {
    let page: ListPage<T>;
    try {
      const limit = String(pageSize);
      if (place !== '') page = await get({ limit, continue: place });
      else page = await get(isLeast ? since : { ...since, limit });
    } catch (error) {
      if (place === '' || !isGone(error)) throw error;
      page = await get(since);
      items.length = 0;
    }
    pages++;
    items.push(...(page.items ?? []));
    place = page.metadata.continue ?? '';
    if (place === '') return { items, resourceVersion: page.metadata.resourceVersion, pages };
  }
}

/**
 * Whether the answer is a page of a list. One that is not, as what stands between us and the server may give it with a
 * 200 as well, says of nothing that it is gone.
 */
function isPage<T>(answer: unknown): answer is ListPage<T> {
  if (!isRecord(answer) || !isRecord(answer['metadata'])) return false;
  const { kind = 'List', items = null } = answer;
  const { resourceVersion } = answer['metadata'];
  if (typeof resourceVersion !== 'string' || resourceVersion === '') return false;
  return typeof kind === 'string' && kind.endsWith('List') && (items === null || Array.isArray(items));
}

/** Whether what was asked for lies too far in the past: of a page, of a list or of a watch. */
export function isGone(error: unknown): boolean {
  return (
    error instanceof ApiError && (error.code === 410 || error.reason === 'Expired' || error.reason === 'Gone')
  );
}

import { badRequest } from '../http/api-error.js';
import { type ApiRequest } from '../http/api-request.js';

/** The form in which a client wants a Table. */
export interface TableForm {
  readonly version: 'v1' | 'v1beta1';
  /** How much of its object a row contains. */
  readonly objects: 'None' | 'Metadata' | 'Object';
}

const GROUP = 'meta.k8s.io';
/** The other media types of JSON. */
const PLAIN = new Set(['application/json', 'application/*', '*/*']);

/**
 * The requested Table; undefined when the client wants objects, or nothing that is supported.
 *
 * The first supported entry of `Accept` counts, as with an API server. Throws BadRequest for an invalid
 * `includeObject`.
 *
 * Source: https://kubernetes.io/docs/reference/using-api/api-concepts/#receiving-resources-as-tables
 */
export function readTableForm({
  headers,
  query,
}: Pick<ApiRequest, 'headers' | 'query'>): TableForm | undefined {
  const { accept = '' } = headers;
  const wanted = (typeof accept === 'string' ? accept : accept.join(',')).split(',');
  for (const range of wanted) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    if (!PLAIN.has(type)) continue;
    const { as, v, g } = Object.fromEntries(parameters.map((each) => each.split('='))) as Parameters;
    if (as === undefined) return undefined;
    // Unsupported: the next range may be supported.
    if (as !== 'table' || g !== GROUP || (v !== 'v1' && v !== 'v1beta1')) continue;
    return { version: v, objects: readObjects(query) };
  }
  return undefined;
}

type Parameters = Readonly<Record<string, string | undefined>>;

function readObjects(query: URLSearchParams): TableForm['objects'] {
  const word = query.get('includeObject') ?? '';
  if (word === '') return 'Metadata';
  if (word === 'None' || word === 'Metadata' || word === 'Object') return word;
  throw badRequest(
    `unrecognized includeObject value: ${JSON.stringify(word)}; it is None, Metadata or Object`,
  );
}

import { useEffect, useState } from 'preact/hooks';

/** Where somebody is on the page: `#/pods/default/web/logs?container=main`. */
export interface Route {
  readonly parts: readonly string[];
  readonly query: URLSearchParams;
}

/** Reads the part of an address behind its #. */
function parseRoute(hash: string): Route {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?');
  const parts = path
    .split('/')
    .filter((each) => each !== '')
    .map(decode);
  return { parts, query: new URLSearchParams(query) };
}

/** The address of a pod, or of one of its tabs. */
export function podPath(
  namespace: string,
  name: string,
  tab = '',
  query: Readonly<Record<string, string>> = {},
): string {
  const path = ['pods', namespace, name, ...(tab === '' ? [] : [tab])].map(encodeURIComponent).join('/');
  const more = new URLSearchParams(query).toString();
  return `#/${path}${more === '' ? '' : `?${more}`}`;
}

/** The present route; the component is drawn again when it changes. */
export function useRoute(): Route {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const onChange = (): void => setHash(location.hash);
    addEventListener('hashchange', onChange);
    return () => removeEventListener('hashchange', onChange);
  }, []);
  return parseRoute(hash);
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Header names and values of HTTP, each preceded by its length in four bytes. */
const WORDS = [
  'options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges age allow',
  'authorization cache-control connection content-base content-encoding content-language content-length',
  'content-location content-md5 content-range content-type date etag expect expires from host if-match',
  'if-modified-since if-none-match if-range if-unmodified-since last-modified location max-forwards pragma',
  'proxy-authenticate proxy-authorization range referer retry-after server te trailer transfer-encoding upgrade',
  'user-agent vary via warning www-authenticate method get status 200_OK version HTTP/1.1 url public set-cookie',
  'keep-alive origin',
]
  .join(' ')
  .split(' ')
  .map((word) => word.replace('_', ' '));

/** The rest, without lengths: status codes, status texts, months and days, media types and the like. */
const TEXT = [
  '100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505',
  '203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized',
  '403 Forbidden404 Not Found500 Internal Server Error501 Not Implemented503 Service Unavailable',
  'Jan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMT',
  'chunked,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain,',
  'text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0.',
].join('');

/** Builds SPDY/3's initial dictionary for the compression of headers (SPDY draft 3, section 2.6.10.1). */
export function makeHeaderDictionary(): Buffer {
  return Buffer.concat([...WORDS.flatMap((word) => [lengthOf(word), Buffer.from(word)]), Buffer.from(TEXT)]);
}

function lengthOf(word: string): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(word.length);
  return length;
}

const ADLER_MODULUS = 65_521;

/** The dictionary, built once, as each connection needs it. */
export const HEADER_DICTIONARY: Buffer = makeHeaderDictionary();
/** The dictionary's id in a zlib stream. */
export const HEADER_DICTIONARY_ID = adler32(HEADER_DICTIONARY);

/** The Adler-32 checksum (RFC 1950), which identifies the dictionary in a zlib stream. */
export function adler32(bytes: Buffer): number {
  let low = 1;
  let high = 0;
  for (const byte of bytes) {
    low = (low + byte) % ADLER_MODULUS;
    high = (high + low) % ADLER_MODULUS;
  }
  return high * 65_536 + low;
}

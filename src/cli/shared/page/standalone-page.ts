import { createHash } from 'node:crypto';
import { PageFiles } from './page-files.js';
import { type RecordedTimeline } from '#kube/node/recorded-timeline.js';

/** The id of the element with the records, as `src/web/data/recorded-feed.ts` finds it. */
const RECORDS = 'podloop-records';

/**
 * A recorded page as one file, which loads nothing: its policy admits the one script and the one style sheet inside, by
 * their digests, and no other.
 *
 * `files` are those of the page (default: the ones beside the program).
 */
export async function toStandalonePage(page: RecordedTimeline, files = new PageFiles()): Promise<string> {
  const [script, style] = await Promise.all([
    files.readText('/page.js').then(escapeScript),
    files.readText('/page.css').then(escapeStyle),
  ]);
  const policy = [
    "default-src 'none'",
    ...[`script-src '${digestOf(script)}'`, `style-src '${digestOf(style)}'`, 'img-src data:'],
    ...[
      "base-uri 'none'",
      "form-action 'none'",
      "require-trusted-types-for 'script'",
      "trusted-types 'none'",
    ],
  ].join('; ');
  return [
    '<!doctype html>',
    '<html lang="en">',
    '<head>',
    '<meta charset="utf-8" />',
    `<meta http-equiv="content-security-policy" content="${policy}" />`,
    '<meta name="viewport" content="width=device-width, initial-scale=1" />',
    '<meta name="color-scheme" content="dark light" />',
    '<meta name="referrer" content="no-referrer" />',
    `<title>${escapeMarkup(page.title)}</title>`,
    '<link rel="icon" href="data:," />',
    `<style>${style}</style>`,
    '</head>',
    '<body>',
    '<div id="page"><noscript>This page needs JavaScript.</noscript></div>',
    `<script type="application/json" id="${RECORDS}">${toSafeJson(page)}</script>`,
    `<script type="module">${script}</script>`,
    '</body>',
    '</html>',
  ].join('\n');
}

/** What a policy calls a script or a style sheet that it admits. */
function digestOf(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`;
}

/** JSON that ends no element and begins no comment, whatever is in it; what parses it gets the same. */
function toSafeJson(value: object): string {
  return JSON.stringify(value).replaceAll('<', String.raw`\u003c`);
}

/** A script in which no text ends its element; in scripts such text stands in strings, templates and patterns. */
function escapeScript(text: string): string {
  return normalized(text)
    .replaceAll(/<(?=\/script)/gi, String.raw`\x3c`)
    .replaceAll('<!--', String.raw`\x3c!--`);
}

function escapeStyle(text: string): string {
  return normalized(text).replaceAll(/<(?=\/style)/gi, String.raw`\3c `);
}

/** As a browser reads it, which takes a digest of that. */
function normalized(text: string): string {
  return text.replaceAll(/\r\n?/g, '\n');
}

function escapeMarkup(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

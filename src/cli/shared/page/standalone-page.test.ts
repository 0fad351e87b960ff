import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { brotliCompressSync } from 'node:zlib';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { PageFiles } from './page-files.js';
import { toStandalonePage } from './standalone-page.js';
import { type RecordedTimeline } from '#kube/node/recorded-timeline.js';

const HOSTILE = '</script><script>alert(1)</script><!--';
const PAGE: RecordedTimeline = {
  ...{ title: `Incident 3 of ${HOSTILE}`, facts: [], notes: [HOSTILE], fromMs: 1, toMs: 2, bands: [] },
  ...{ findings: [], entries: [] },
};
let folder: string;
let files: PageFiles;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-page-file-'));
  files = new PageFiles(pathToFileURL(`${folder}/`));
  const texts = {
    'page.js': 'const end = "</script>", comment = "<!--";\r\n',
    'page.css': 'a::after { content: "</style>" }\n',
  };
  for (const [name, text] of Object.entries(texts))
    await writeFile(join(folder, `${name}.br`), brotliCompressSync(text));
});

afterEach(() => rm(folder, { recursive: true }));

const digestOf = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

it('admits its own script and style sheet alone, and loads nothing', async () => {
  const text = await toStandalonePage(PAGE, files);
  const [, policy = ''] = /http-equiv="content-security-policy" content="([^"]*)"/.exec(text) ?? [];
  const [, script = ''] = /<script type="module">([^]*?)<\/script>/.exec(text) ?? [];
  const [, style = ''] = /<style>([^]*?)<\/style>/.exec(text) ?? [];
  expect(script).toBe('const end = "\\x3c/script>", comment = "\\x3c!--";\n');
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain(`script-src ${digestOf(script)};`);
  expect(policy).toContain(`style-src ${digestOf(style)};`);
  expect(policy).not.toMatch(/unsafe|https?:|\*/);
  expect(text).not.toMatch(/(?:src|href)="(?!data:)/);
});

it('has what it shows inside as text, whatever is in it', async () => {
  const text = await toStandalonePage(PAGE, files);
  expect(text.match(/<script/g)).toHaveLength(2);
  const [, records = ''] = /id="podloop-records">([^]*?)<\/script>/.exec(text) ?? [];
  expect(JSON.parse(records)).toEqual(PAGE);
  expect(text).toContain('<title>Incident 3 of &lt;/script&gt;');
});

// The page of `podloop web`, as it lies beside the program: one script, one style sheet, compressed, and a script for terminals that
// is loaded when one is opened. Browsers take brotli, and `src/cli/shared/page/page-files.ts` decompresses for who does not.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { brotliCompressSync, constants } from 'node:zlib';
import { rolldown } from 'rolldown';

const SOURCES = path.join(import.meta.dirname, '../src/web');
const LIBRARIES = path.join(import.meta.dirname, '../node_modules');
/** Of what a browser has to fetch before it shows anything. */
const MAX_BYTES = 300 * 1024;

/**
 * The files of the page by their names, and the modules that they are made of.
 *
 * @returns {Promise<{ files: Map<string, Buffer>, moduleIds: string[] }>}
 */
export async function bundlePage() {
  const [page, terminal] = await Promise.all([
    bundleScript('main.tsx'),
    bundleScript('terminal/open-terminal.ts'),
  ]);
  const css = [
    readFileSync(path.join(LIBRARIES, 'uplot/dist/uPlot.min.css'), 'utf8'),
    minifiedCss(path.join(LIBRARIES, '@xterm/xterm/css/xterm.css')),
    minifiedCss(path.join(SOURCES, 'page.css')),
  ];
  const texts = {
    'page.html': readFileSync(path.join(SOURCES, 'page.html'), 'utf8'),
    'page.svg': readFileSync(path.join(SOURCES, 'page.svg'), 'utf8'),
    'page.css': css.join('\n'),
    'page.js': page.code,
  };
  const files = new Map(Object.entries(texts).map(([name, text]) => [`${name}.br`, compress(text)]));
  const bytes = [...files.values()].reduce((sum, { length }) => sum + length, 0);
  if (bytes > MAX_BYTES) throw new Error(`the page has ${bytes} bytes, and may have ${MAX_BYTES}`);
  files.set('terminal.js.br', compress(terminal.code));
  return { files, moduleIds: [...page.moduleIds, ...terminal.moduleIds] };
}

/** A module and what it imports, in one. */
async function bundleScript(input) {
  const build = await rolldown({
    input: path.join(SOURCES, input),
    platform: 'browser',
    tsconfig: path.join(SOURCES, 'tsconfig.json'),
    // The other script, which a browser loads when it is needed.
    external: ['/terminal.js'],
    // Of the sources, whether they were compiled or not.
    resolve: {
      conditionNames: ['podloop-source', 'browser', 'import', 'module', 'default'],
      extensionAlias: { '.js': ['.ts', '.tsx', '.js'] },
    },
  });
  const { output } = await build.generate({
    format: 'esm',
    minify: true,
    comments: false,
    codeSplitting: false,
  });
  await build.close();
  return output[0];
}

/** Without comments and line breaks. */
function minifiedCss(file) {
  return readFileSync(file, 'utf8')
    .replaceAll(/\/\*[^]*?\*\//g, '')
    .replaceAll(/\s*\n\s*/g, ' ');
}

function compress(text) {
  return brotliCompressSync(text, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } });
}

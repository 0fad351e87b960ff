// Manual pages (man, section 1) from the help of the program, so that there is nothing to keep in step by hand.
import { execFileSync } from 'node:child_process';

/**
 * The manual pages of the program and of each of its commands: `podloop.1`, `podloop-run.1`, and so on.
 *
 * @param {string} program path of the built program
 * @param {{ version: string, date: string }} release date as `2026-01-31`
 * @returns {Map<string, string>} text in roff, by file name
 */
export function makeManPages(program, release) {
  const help = (...words) =>
    execFileSync(process.execPath, [program, ...words, '--help'], { encoding: 'utf8' });
  const main = help();
  const commands = listCommands(main);
  const related = commands.map(({ name }) => `podloop-${name}`);
  const pages = [
    [
      'podloop',
      toManPage({ ...release, name: 'podloop', summary: 'a node agent for pods', help: main, related }),
    ],
    ...commands.map(({ name, summary }) => [
      `podloop-${name}`,
      toManPage({ ...release, name: `podloop-${name}`, summary, help: help(name), related: ['podloop'] }),
    ]),
  ];
  return new Map(pages.map(([name, text]) => [`${name}.1`, text]));
}

/** The commands that a help text lists, with a line about each. Pure. */
export function listCommands(help) {
  const sections = splitHelp(help).sections.filter(({ title }) => /commands?$/i.test(title));
  return sections
    .flatMap(({ lines }) => toTerms(lines))
    .map(({ term, words }) => ({ name: term.split(' ')[0], summary: words }))
    .filter(({ name }) => name !== 'help');
}

/**
 * A manual page of a help text. Pure.
 *
 * Usage becomes the synopsis, lists of arguments and options become tagged paragraphs, examples stay as they are.
 */
export function toManPage({ name, summary, help, version, date, related }) {
  const { usage, description, sections } = splitHelp(help);
  const [command, ...rest] = usage.split(/ (?=[[<])/);
  const blocks = [
    `.TH ${name.toUpperCase()} 1 "${date}" "podloop ${version}" "User Commands"`,
    ['.SH NAME', `${escape(name)} \\- ${escape(summary)}`],
    ['.SH SYNOPSIS', `.B ${escape(command)}`, ...rest.map((word) => `.RI ${escape(word)}`)],
    ['.SH DESCRIPTION', ...toParagraphs(description)],
    ...sections.map(({ title, lines }) => toSection(title, lines)),
    ['.SH SEE ALSO', related.map((page) => `.BR ${escape(page)} (1)`).join(',\n')],
  ];
  return `${blocks.flat().join('\n')}\n`;
}

/** Usage, description, and the sections with their titles, such as `Options`. */
function splitHelp(help) {
  const lines = help.trimEnd().split('\n');
  const usage = /^Usage: (.*)$/.exec(lines[0])?.[1] ?? '';
  const [description, sections] = [[], []];
  for (const line of lines.slice(1)) {
    const title = /^(\S.*):$/.exec(line)?.[1];
    // A sentence that ends in a colon has more words than a title.
    if (title !== undefined && title.split(' ').length <= 4) sections.push({ title, lines: [] });
    else if (sections.length === 0) description.push(line);
    else if (/^\S/.test(line) && !isText(sections.at(-1))) sections.push({ title: '', lines: [line] });
    else sections.at(-1).lines.push(line);
  }
  return { usage, description, sections };
}

/** Whether a section has paragraphs and no list. */
function isText({ title, lines }) {
  return title === '' || /^\S/.test(lines.find((line) => line !== '') ?? ' ');
}

function toSection(title, lines) {
  if (title === '') return ['.SH NOTES', ...toParagraphs(lines)];
  const head = `.SH ${escape(title.toUpperCase())}`;
  if (/^examples?$/i.test(title))
    return [head, '.nf', ...trimBlank(lines).map((line) => escape(line)), '.fi'];
  if (isText({ title, lines })) return [head, ...toParagraphs(lines)];
  return [head, ...toTerms(lines).flatMap(({ term, words }) => ['.TP', `.B ${escape(term)}`, escape(words)])];
}

/** Entries of a list: two blanks, the term, at least two blanks, words that go on in lines further to the right. */
function toTerms(lines) {
  const terms = [];
  for (const line of lines) {
    const [, term, words = ''] = /^ {2}(\S(?:.*?\S)?)(?: {2,}(.*))?$/.exec(line) ?? [];
    const last = terms.at(-1);
    if (term !== undefined) terms.push({ term, words });
    else if (last !== undefined && line.trim() !== '') last.words = `${last.words} ${line.trim()}`.trim();
  }
  return terms;
}

function toParagraphs(lines) {
  const paragraphs = trimBlank(lines)
    .join('\n')
    .split(/\n{2,}/);
  return paragraphs.flatMap((text, at) => [
    ...(at === 0 ? [] : ['.PP']),
    ...text.split('\n').map((line) => escape(line.trim())),
  ]);
}

function trimBlank(lines) {
  const [first, last] = [lines.findIndex((line) => line !== ''), lines.findLastIndex((line) => line !== '')];
  return first < 0 ? [] : lines.slice(first, last + 1);
}

/** Text as roff takes it: a hyphen is one, and no line is a request by accident. */
function escape(text) {
  return text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replace(/^([.'])/, '\\&$1');
}

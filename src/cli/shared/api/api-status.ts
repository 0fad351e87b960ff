import { CommandFailure } from '../../command-failure.js';

/** The part of a v1 Status that a client reads. */
export interface StatusBody {
  readonly kind?: string;
  readonly status?: string;
  readonly message?: string;
  readonly reason?: string;
  readonly code?: number;
  readonly details?: {
    readonly name?: string;
    readonly kind?: string;
    readonly causes?: readonly {
      readonly reason?: string;
      readonly message?: string;
      readonly field?: string;
    }[];
  };
}

/** A refusal of the agent, said in kubectl's words: `Error from server (NotFound): pods "x" not found`. */
export class ApiError extends CommandFailure {
  /** The status code of the answer. */
  readonly code: number;
  /** `NotFound`, `Invalid` …; empty when the answer has none. */
  readonly reason: string;
  /** What the agent says, without the words in front. */
  readonly told: string;
  readonly #body: StatusBody;

  constructor(code: number, body: StatusBody) {
    const { reason = '', message = `the server answered with ${code}` } = body;
    super(wordsOf(body, message));
    this.code = code;
    this.reason = reason;
    this.told = message;
    this.#body = body;
  }

  /** The same, with what was done and from which file: `error when creating "web.yaml": …`. */
  when(doing: string, file: string): ApiError {
    const message = `error when ${doing} ${JSON.stringify(file)}: ${this.told}`;
    return new ApiError(this.code, { ...this.#body, message });
  }
}

/** Reads a body as a Status; undefined when it is none. */
export function readStatus(text: string): StatusBody | undefined {
  if (!text.trimStart().startsWith('{')) return undefined;
  try {
    const body = JSON.parse(text) as StatusBody;
    return body.kind === 'Status' ? body : undefined;
  } catch {
    return undefined;
  }
}

/** The error of an answer with that code and body, which is a Status or some text. */
export function toApiError(code: number, text: string): ApiError {
  const body = readStatus(text);
  if (body !== undefined) return new ApiError(code, body);
  const message = text.trim();
  return new ApiError(code, message === '' ? {} : { message });
}

function wordsOf(body: StatusBody, message: string): string[] {
  const { reason = '', details } = body;
  if (reason === 'Invalid') return invalidWords(details, message);
  const [first = '', ...rest] = message.split('\n');
  const from = reason === '' ? 'Error from server: ' : `Error from server (${reason}): `;
  return [`${from}${first}`, ...rest];
}

/** kubectl says of an object that is not valid which one it is, and all that is wrong. */
function invalidWords(details: StatusBody['details'], message: string): string[] {
  const { kind = '', name = '', causes = [] } = details ?? {};
  if (details === undefined || (kind === '' && name === '')) {
    return `The request is invalid: ${message}`.split('\n');
  }
  const head = `The ${kind} "${name}" is invalid`;
  const faults = causes.map(({ field = '', message: told = '' }) =>
    field === '' ? told : `${field}: ${told}`,
  );
  if (faults.length === 0) return [head];
  if (faults.length === 1) return [`${head}: ${faults[0]!}`];
  return [`${head}: `, ...faults.map((fault) => `* ${fault}`)];
}

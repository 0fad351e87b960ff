import { type LogFields, type Logger } from '#base/log/logger.js';

/** A line that was logged. */
export interface LoggedLine {
  readonly level: 'info' | 'warn' | 'error';
  readonly message: string;
  readonly fields: LogFields;
}

/** A logger that records its lines for a test to read. */
export class LogRecorder implements Logger {
  readonly lines: LoggedLine[] = [];

  info(message: string, fields: LogFields = {}): void {
    this.lines.push({ level: 'info', message, fields });
  }

  warn(message: string, fields: LogFields = {}): void {
    this.lines.push({ level: 'warn', message, fields });
  }

  error(message: string, error?: unknown, fields: LogFields = {}): void {
    this.lines.push({ level: 'error', message, fields: { ...fields, err: error } });
  }

  enabled(): boolean {
    return true;
  }

  /** The warnings and errors. */
  get complaints(): readonly LoggedLine[] {
    return this.lines.filter(({ level }) => level !== 'info');
  }
}

import { inRange } from '#kube/validation/problem-list.js';
import { findPatternProblem } from '#base/log/log-settings.js';
import { type ValueCheck } from './honoured-field.js';

/** The log settings of a configuration file that podloop supports. */
export interface LoggingConfig {
  readonly format?: 'text' | 'json';
  readonly verbosity?: number;
  readonly vmodule?: readonly { readonly filePattern: string; readonly verbosity: number }[];
}

interface WrittenLogging {
  readonly format?: 'text' | 'json';
  readonly verbosity?: number;
  readonly vmodule?: readonly { readonly filePattern: string; readonly verbosity?: number }[];
}

/** A rule without a verbosity has the verbosity 0, as in a kubelet. */
export function readLogging({ format, verbosity, vmodule = [] }: WrittenLogging): LoggingConfig {
  return {
    ...(format === undefined ? {} : { format }),
    ...(verbosity === undefined ? {} : { verbosity }),
    vmodule: vmodule.map((rule) => ({ verbosity: 0, ...rule })),
  };
}

export const checkLogging: ValueCheck<LoggingConfig> = ({ verbosity, vmodule = [] }, path, list) => {
  list.check([...path, 'verbosity'], verbosity, inRange(0));
  for (const [index, rule] of vmodule.entries()) {
    list.check([...path, 'vmodule', index, 'filePattern'], rule.filePattern, findPatternProblem);
    list.check([...path, 'vmodule', index, 'verbosity'], rule.verbosity, inRange(0));
  }
};

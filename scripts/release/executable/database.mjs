// In the single executable, what the program imports of classic-level, a CommonJS package: in one module with all that it needs.
export { ClassicLevel } from 'classic-level';

import { AppError } from '../core/errors.ts';

/** The error of a run that could not verify the listing as complete, and so applied nothing. */
export class UnverifiedError extends AppError {}

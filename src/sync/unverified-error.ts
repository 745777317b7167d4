import { AppError } from '../core/errors.ts';

/** The error of a run that could not verify that the listing is complete, and therefore applied nothing. */
export class UnverifiedError extends AppError {}

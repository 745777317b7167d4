import { AppError } from '../core/errors.ts';

/** The listing could not be verified as complete; nothing was applied. */
export class UnverifiedError extends AppError {}

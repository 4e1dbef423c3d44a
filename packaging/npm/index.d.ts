/** The path of the program p20export for this system. */
export const binary: string;

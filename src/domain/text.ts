/** Whether the text holds no NUL and no half of a surrogate pair: PostgreSQL and UTF-8 can store neither. */
export const isStorable = (text: string): boolean => !text.includes('\0') && !/\p{Surrogate}/u.test(text)

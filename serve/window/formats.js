// Numbers and times for people, as in the page of report: bytes are not rounded.
import { count, plural } from "./shared.js";

export const bytes = (n) => plural(n, "byte", "bytes");

const two = (n) => String(n).padStart(2, "0");

// localTime formats a date in the zone of the browser, to the second.
export const localTime = (date) =>
  date.getFullYear() + "-" + two(date.getMonth() + 1) + "-" + two(date.getDate()) + " " + two(date.getHours()) + ":" + two(date.getMinutes()) + ":" + two(date.getSeconds());

// duration formats a number of microseconds.
export const duration = (micros) => {
  if (micros < 1e6) return (micros / 1e3).toFixed(micros < 1e4 ? 1 : 0) + " ms";
  const seconds = micros / 1e6;
  if (seconds < 60) return seconds.toFixed(seconds < 10 ? 2 : 1) + " s";
  const whole = Math.round(seconds);
  if (whole < 3600) return Math.floor(whole / 60) + " min " + two(whole % 60) + " s";
  return count.format(Math.floor(whole / 3600)) + " h " + two(Math.floor(whole / 60) % 60) + " min";
};

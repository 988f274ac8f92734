package io.holdfast.lock.consul;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** As much of JSON as Consul's answers need: objects, arrays, strings, whole numbers, literals. */
final class Json {
  private static final int DEPTH_MAX = 32;

  private final String text;
  private int at;

  private Json(String text) {
    this.text = text;
  }

  /**
   * Reads a text as maps, lists, strings, longs, booleans and nulls.
   *
   * @throws IllegalArgumentException it is no JSON
   */
  static @Nullable Object parse(String text) {
    Json json = new Json(text);
    Object value = json.value(0);
    json.space();
    if (json.at < text.length()) {
      throw json.wrong();
    }
    return value;
  }

  /** A text as a JSON string, quotes included. */
  static String quote(String text) {
    StringBuilder out = new StringBuilder(text.length() + 2).append('"');
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      if (c == '"' || c == '\\') {
        out.append('\\').append(c);
      } else if (c < ' ') {
        out.append(String.format(java.util.Locale.ROOT, "\\u%04x", (int) c));
      } else {
        out.append(c);
      }
    }
    return out.append('"').toString();
  }

  private @Nullable Object value(int depth) {
    if (depth > DEPTH_MAX) {
      throw wrong();
    }
    space();
    return switch (peek()) {
      case '{' -> object(depth);
      case '[' -> array(depth);
      case '"' -> string();
      case 't' -> literal("true", true);
      case 'f' -> literal("false", false);
      case 'n' -> literal("null", null);
      default -> number();
    };
  }

  private Map<String, @Nullable Object> object(int depth) {
    Map<String, @Nullable Object> members = new LinkedHashMap<>();
    at++;
    space();
    if (peek() == '}') {
      at++;
      return members;
    }
    while (true) {
      space();
      String name = string();
      space();
      expect(':');
      members.put(name, value(depth + 1));
      space();
      if (peek() == '}') {
        at++;
        return members;
      }
      expect(',');
    }
  }

  private List<@Nullable Object> array(int depth) {
    List<@Nullable Object> elements = new ArrayList<>();
    at++;
    space();
    if (peek() == ']') {
      at++;
      return elements;
    }
    while (true) {
      elements.add(value(depth + 1));
      space();
      if (peek() == ']') {
        at++;
        return elements;
      }
      expect(',');
    }
  }

  private String string() {
    expect('"');
    int begin = at;
    StringBuilder unescaped = null;
    while (true) {
      char c = peek();
      if (c == '"') {
        String tail = text.substring(begin, at++);
        return unescaped == null ? tail : unescaped.append(tail).toString();
      }
      if (c == '\\') {
        unescaped = unescaped == null ? new StringBuilder() : unescaped;
        unescaped.append(text, begin, at);
        at++;
        unescaped.append(escaped());
        begin = at;
      } else {
        at++;
      }
    }
  }

  private char escaped() {
    char c = peek();
    at++;
    return switch (c) {
      case '"', '\\', '/' -> c;
      case 'b' -> '\b';
      case 'f' -> '\f';
      case 'n' -> '\n';
      case 'r' -> '\r';
      case 't' -> '\t';
      case 'u' -> {
        if (at + 4 > text.length()) {
          throw wrong();
        }
        at += 4;
        yield (char) Integer.parseInt(text, at - 4, at, 16);
      }
      default -> throw wrong();
    };
  }

  private long number() {
    int begin = at;
    while (at < text.length() && (text.charAt(at) == '-' || Character.isDigit(text.charAt(at)))) {
      at++;
    }
    // A flag can be above the largest long; it keeps its bits.
    String digits = text.substring(begin, at);
    return digits.startsWith("-") ? Long.parseLong(digits) : Long.parseUnsignedLong(digits);
  }

  private @Nullable Object literal(String word, @Nullable Object meaning) {
    if (!text.startsWith(word, at)) {
      throw wrong();
    }
    at += word.length();
    return meaning;
  }

  private void space() {
    while (at < text.length() && text.charAt(at) <= ' ') {
      at++;
    }
  }

  private char peek() {
    if (at >= text.length()) {
      throw wrong();
    }
    return text.charAt(at);
  }

  private void expect(char c) {
    if (peek() != c) {
      throw wrong();
    }
    at++;
  }

  private IllegalArgumentException wrong() {
    return new IllegalArgumentException("No JSON at character " + at);
  }
}

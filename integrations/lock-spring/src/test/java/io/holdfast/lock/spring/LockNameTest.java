package io.holdfast.lock.spring;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.lang.reflect.AccessibleObject;
import java.lang.reflect.Method;
import java.math.BigDecimal;
import java.time.Instant;
import java.time.LocalDate;
import java.util.Arrays;
import java.util.Date;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TimeZone;
import java.util.UUID;
import org.aopalliance.intercept.MethodInvocation;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Templates of locks' names: those that are refused, and the texts of the others. */
@SuppressWarnings("JavaUtilDate")
class LockNameTest {
  private static final UUID ANY = new UUID(1, 2);

  record Order(long id, Kind kind, @Nullable Order parent) {}

  static class Basket {
    public final String key = "k";

    public String getOwner() {
      return "o";
    }

    public boolean isOpen() {
      return true;
    }
  }

  interface Shape {}

  static class Base {
    public Base getParent() {
      return this;
    }
  }

  /** Has two methods {@code getParent}: the compiler adds one that returns a {@link Base}. */
  static class Sub extends Base {
    @Override
    public Sub getParent() {
      return this;
    }

    public String getExtra() {
      return "e";
    }
  }

  enum Kind {
    NEW {
      @Override
      public String toString() {
        return "brand new";
      }
    }
  }

  static class Shop {
    public String getId() {
      return "the bean's";
    }

    @SuppressWarnings("unused")
    void run(
        String id,
        Order order,
        Basket basket,
        Shape shape,
        Date date,
        LocalDate day,
        Instant at,
        Kind kind,
        List<String> ids,
        Map<String, String> map,
        Optional<String> maybe,
        BigDecimal amount,
        Object any,
        int[] numbers,
        Sub sub) {}
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '"',
      value = {
        "#{id}                        | of nothing",
        "#{id + 1}                    | of nothing",
        "#{getId()}                   | of nothing",
        "#{'x' + order.id}            | of nothing",
        "#{#root.id}                  | refers to #root",
        "#{#this.id}                  | refers to #this",
        "#{@shop.id}                  | refers to a bean",
        "#{#f(1)}                     | calls a function",
        "#{'#id'}                     | is plain text",
        "orders/:id                   | write #{#id}",
        "orders/<id>                  | write #{#id}",
        "orders/[id]                  | write #{#id}",
        "orders/{nobody}              | write #{#nobody}",
        "#{#order.idd}                | does not have",
        "#{#order.parent.idd}         | does not have",
        "#{#order.parent?.idd}        | does not have",
        "#{#id.foo()}                 | does not have",
        "#{#basket.nobody}            | does not have",
        "#{#map.k}                    | does not have",
        "#{#numbers.size}             | does not have",
        "#{#order.id.value}           | does not have",
        "#{#order}                    | Order, which has no text",
        "#{#order.parent}             | Order, which has no text",
        "#{#date}                     | Date, which has no text",
        "#{#ids}                      | List, which has no text",
        "#{#map}                      | Map, which has no text",
        "#{#maybe}                    | Optional, which has no text",
        "#{#numbers}                  | int[], which has no text",
        "#{#p4}                       | Date, which has no text",
      })
  void whatCanHaveNoTextOrTheSameForAllCallsIsRefused(String template, String said) {
    assertThatExceptionOfType(InvalidLockedMethodException.class)
        .isThrownBy(() -> LockName.parse(place(), template))
        .withMessageContaining("attribute name")
        .withMessageContaining(said);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '"',
      value = {
        "orders:daily                 | orders:daily",
        "#{'{id}'}/#{':id'}           | {id}/:id",
        "orders/<all>[x]              | orders/<all>[x]",
        "#{#id}                       | 7",
        "#{#p0}/#{#a0}                | 7/7",
        "#{#id.length()}              | 1",
        "#{#order.id}                 | 42",
        "#{#order.parent.id}          | 41",
        "#{#order.parent?.parent?.id ?: 'none'} | none",
        "#{#order.kind}               | NEW",
        "#{#basket.owner}             | o",
        "#{#basket.open}              | true",
        "#{#basket.key}               | k",
        "#{#day}                      | 2026-11-29",
        "#{#at}                       | 2026-11-29T00:00:00Z",
        "#{#date.toInstant()}         | 2026-11-29T00:00:00Z",
        "#{#kind}                     | NEW",
        "#{#ids[0]}                   | a",
        "#{#ids.size()}               | 2",
        "#{#ids.?[length() == 2][0]}  | bb",
        "#{#map[k]}                   | v",
        "#{#maybe.get()}              | m",
        "#{#sub.parent.extra}         | e",
        "#{#amount}                   | 1.50",
        "#{#any}                      | 00000000-0000-0001-0000-000000000002",
        "#{#numbers[0]}               | 5",
        "#{#numbers.length}           | 1",
        "#{T(java.lang.Integer).valueOf(#id) + 1} | 8",
      })
  void aNameIsTheSameTextOnEveryMachine(String template, String name) throws Exception {
    TimeZone before = TimeZone.getDefault();
    TimeZone.setDefault(TimeZone.getTimeZone("Pacific/Chatham"));
    try {
      assertThat(name(template, ANY)).isEqualTo(name);
    } finally {
      TimeZone.setDefault(before);
    }
  }

  @Test
  void aValueThatTurnsOutToHaveNoTextIsRefusedAtTheCall() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> name("#{#any}", new Date(0)))
        .withMessageContaining("java.util.Date, which has no text that is the same")
        .withMessageContaining("nothing was locked");
  }

  private static String name(String template, Object any) throws Exception {
    Instant at = Instant.parse("2026-11-29T00:00:00Z");
    Object[] arguments = {
      "7",
      new Order(42, Kind.NEW, new Order(41, Kind.NEW, null)),
      new Basket(),
      new Shape() {},
      Date.from(at),
      LocalDate.of(2026, 11, 29),
      at,
      Kind.NEW,
      List.of("a", "bb"),
      Map.of("k", "v"),
      Optional.of("m"),
      new BigDecimal("1.50"),
      any,
      new int[] {5},
      new Sub()
    };
    return LockName.parse(place(), template).of(call(arguments));
  }

  private static Place place() {
    return new Place("shop", method(), Shop.class);
  }

  private static Method method() {
    return Arrays.stream(Shop.class.getDeclaredMethods())
        .filter(method -> method.getName().equals("run"))
        .findFirst()
        .orElseThrow();
  }

  private static MethodInvocation call(Object[] arguments) {
    return new MethodInvocation() {
      @Override
      public Method getMethod() {
        return method();
      }

      @Override
      public @Nullable Object[] getArguments() {
        return arguments;
      }

      @Override
      public @Nullable Object proceed() {
        return null;
      }

      @Override
      public Object getThis() {
        return new Shop();
      }

      @Override
      public AccessibleObject getStaticPart() {
        return method();
      }
    };
  }
}
